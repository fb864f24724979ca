"""`gpustack gpu burn` as typed, against pods, metrics and hosts that are none."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpustack.ask.transport.execute import run_script
from gpustack.burn import task, watch
from gpustack.cli import session
from gpustack.cli.gpu.commands import app
from gpustack.config.host import CONTROL_PLANE
from gpustack.engines import call, change, engine
from gpustack.engines.engine import Engine, Engines
from gpustack.errors import GpustackError, UnreachableError
from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.readings import Readings, build_readings
from gpustack.metrics.web import Access
from gpustack.probes.proof import RUN
from gpustack.proof import inventory
from gpustack.proof.workload import NODE
from gpustack.report.gpus.burn import BurnDocument
from gpustack.rollout import evidence
from gpustack.rollout import run as locked_run
from tests.schemas import check_shape
from tests.worlds.programs.engines import ACTING, Hosts
from tests.worlds.prometheus.gpu_series import build_gpu_series
from tests.worlds.results import burns
from tests.worlds.results.burns import UUIDS
from tests.worlds.snapshots.build import TAKEN_AT, build

IDLE = Engines(
    (Engine("gpu1", ACTING, gpus=2, free=1), Engine("gpu2", ACTING, address="", gpus=2, free=2)),
    {"gpu3": "its GPUs are in use: team-a/train-0"},
    ACTING,
    {},
    TAKEN_AT,
)
HOT = {"GPU_TEMP": 93.0}


@dataclass
class Cluster:
    """Stand for a cluster whose time passes when somebody waits. A pod runs at once and ends after 60 s; GPUs are warm,
    and under load from the 30th second on. `differs` are values of GPUs at a time."""

    hosts: Hosts = field(default_factory=Hosts)
    time: float = 0.0
    output: str = burns.GOOD
    pods: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    silences: list[str] = field(default_factory=list)
    differs: Callable[[float], dict[str, float]] = lambda time: {}
    offers: dict[str, int] = field(default_factory=lambda: {"gpu1": 2, "gpu2": 2})
    max_pods: int = 0

    @contextmanager
    def connect(self, *_: object) -> Iterator["Cluster"]:
        yield self

    def open(self) -> int:
        return 0

    def create(self, manifest: Mapping[str, Any]) -> None:
        self.pods[manifest["metadata"]["name"]] = manifest
        self.max_pods = max(self.max_pods, len(self.pods))

    def list_pods(self, run: str = "") -> list[dict[str, Any]]:
        assert all(pod["metadata"]["labels"][RUN] == run for pod in self.pods.values())
        state = {"terminated": {"exitCode": 0}} if self.time >= 60 else {"running": {}}
        status = {"containerStatuses": [{"name": "load", "state": state}]}
        return [{**pod, "status": status} for pod in self.pods.values()]

    def read_log(self, pod: str, container: str, max_bytes: int = 0) -> str:
        number = list(self.pods).index(pod)
        node = self.pods[pod]["metadata"]["annotations"][NODE]
        uuid = UUIDS[number + (2 if node == "gpu2" else 0)]
        return f"{uuid}, 00000000:65:00.0, {burns.MODEL}\n{self.output}"

    def find_warning(self, pod: str) -> str:
        return ""

    def delete(self, pod: Mapping[str, Any]) -> None:
        del self.pods[pod["metadata"]["name"]]

    def remove(self, run: str) -> bool:
        self.pods.clear()
        return True

    def query_readings(self, *_: object) -> Readings:
        value = {"GPU_TEMP": 70.0, "GPU_MAX_OP_TEMP": 87.0, "CLOCK_THROTTLE_REASONS": 4.0}
        value |= {"PROF_PIPE_TENSOR_ACTIVE": 0.9 if 30 <= self.time <= 90 else 0.0} | self.differs(self.time)
        places = [("gpu1", 0), ("gpu1", 1), ("gpu2", 2), ("gpu2", 3)]
        all_series = [build_gpu_series(node, index, {"UUID": UUIDS[index]}, **value) for node, index in places]
        current_series = [replace(series, points=((self.time, series.points[0][1]),)) for series in chain(*all_series)]
        return build_readings(current_series, {})


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cluster:
    cluster, snapshot = Cluster(), build([replace(ACTING, groups=frozenset({CONTROL_PLANE}))], {})

    @contextmanager
    def hold_locks(*_: object, **__: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(loss_reason="", holder="ann@desk")

    @contextmanager
    def silence(run: object, nodes: Sequence[str], seconds: float, test: str) -> Iterator[None]:
        cluster.silences.append(f"{','.join(nodes)} {seconds:.0f}")
        yield
        cluster.silences.append("ended")

    @contextmanager
    def open_prometheus(*_: object) -> Iterator[Prometheus]:
        yield Prometheus(Access("http://127.0.0.1:9090"))

    def wait(seconds: float) -> None:
        cluster.time += seconds

    monkeypatch.setattr(session, "open_inventory", lambda *_, **__: snapshot.inventory)
    monkeypatch.setattr(session, "gather_all", lambda *_: snapshot)
    monkeypatch.setattr(locked_run, "hold_locks", hold_locks)
    monkeypatch.setattr(evidence, "locate_runs", lambda: tmp_path)
    monkeypatch.setattr(engine, "find_idle", lambda *_: IDLE)
    monkeypatch.setattr(watch, "open_prometheus", open_prometheus)
    monkeypatch.setattr(inventory, "gather_offers", lambda *_: cluster.offers)
    monkeypatch.setattr(task, "silence_alerts", silence)
    monkeypatch.setattr(task, "open_pods", cluster.connect)
    monkeypatch.setattr(task, "sleep", wait)
    monkeypatch.setattr(task, "monotonic", lambda: cluster.time)
    monkeypatch.setattr(Prometheus, "fetch_time", lambda _: cluster.time)
    monkeypatch.setattr(watch, "query_readings", cluster.query_readings)
    for function in (call.call_each, call.run_command, change.Change.__init__):
        defaults = function.__defaults__
        assert defaults
        monkeypatch.setattr(
            function,
            "__defaults__",
            tuple(cluster.hosts.execute if default is run_script else default for default in defaults),
        )
    return cluster


def run_burn(*words: str) -> Result:
    return CliRunner().invoke(app, ["burn", "-q", *words])


def parse_document(result: Result) -> dict[str, Any]:
    check_shape(BurnDocument, result.stdout)
    loads: dict[str, Any] = json.loads(result.stdout)
    assert result.exit_code == loads["exit"]["code"]
    return loads


def test_free_gpus_of_a_node_are_loaded(cluster: Cluster) -> None:
    document = parse_document(run_burn("--yes", "-o", "json"))
    assert [(gpu["node"], gpu["uuid"], gpu["outcome"]) for gpu in document["gpus"]] == [
        ("gpu2", UUIDS[2], "passed"), ("gpu2", UUIDS[3], "passed"),
    ]  # fmt: skip
    (first, _) = document["gpus"]
    assert (first["actual_ratio"], first["expected_ratio"]) == (0.9, pytest.approx(0.36))
    assert first["temperature_celsius"] == 70.0
    assert first["throttle_reasons"] == ["power cap"]
    assert (document["exit"]["code"], document["unreachable_nodes"], document["stop_reason"]) == (0, [], None)
    assert document["remaining"] == []


def test_nothing_of_it_stays(cluster: Cluster) -> None:
    run_burn("--yes", "-o", "json")
    marked_action, unmarked_action = cluster.hosts.list_actions()
    assert "gpustack.io/temporary-load=" in marked_action
    assert unmarked_action.endswith("annotate node gpu2 gpustack.io/temporary-load-")
    assert cluster.silences == ["gpu2 360", "ended"]
    assert (cluster.max_pods, cluster.pods) == (2, {})


def test_it_needs_a_yes_and_shows_what_pods_run(cluster: Cluster) -> None:
    result = run_burn("--node", "gpu1,gpu2")
    assert isinstance(result.exception, GpustackError)
    assert result.exception.reference == "change-declined"
    assert "1 pod with a GPU each, of nvcr.io/nvidia/cloud-native/dcgm:" in result.stdout
    assert "dcgmproftester -t 1004 -d 60 -r 1 --no-dcgm-validation" in result.stdout
    assert "It ends by itself, by 2026-11-21 05:06 UTC" in result.stdout
    assert (cluster.max_pods, cluster.hosts.typed_commands) == (0, [])


def test_heat_stops_all_loads(cluster: Cluster) -> None:
    cluster.differs = lambda time: HOT if time >= 40 else {}
    document = parse_document(run_burn("--yes", "-o", "json"))
    assert document["stop_reason"] == f"{UUIDS[2]} is too hot: 93 °C, and its limit is 87 °C"
    assert [gpu["outcome"] for gpu in document["gpus"]] == ["failed", "unknown"]
    assert (document["exit"]["code"], cluster.pods, cluster.time) == (1, {}, 40)
    assert cluster.hosts.list_actions()[-1].endswith("gpustack.io/temporary-load-")


def test_an_interruption_leaves_nothing(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpustack.rollout.run import Run

    monkeypatch.setattr(Run, "find_stop_reason", lambda _: "interrupted" if cluster.time >= 20 else "")
    document = parse_document(run_burn("--yes", "-o", "json"))
    assert (document["exit"]["code"], document["stop_reason"]) == (130, "interrupted")
    assert {gpu["outcome"] for gpu in document["gpus"]} == {"unknown"}
    assert (cluster.pods, cluster.silences[-1]) == ({}, "ended")
    assert cluster.hosts.list_actions()[-1].endswith("gpustack.io/temporary-load-")


def test_a_gpu_is_selected_by_uuid(cluster: Cluster) -> None:
    """The other free GPU of the node is kept, and not loaded."""
    document = parse_document(run_burn("--gpu", UUIDS[3], "--yes", "-o", "json"))
    assert [(gpu["uuid"], gpu["outcome"]) for gpu in document["gpus"]] == [(UUIDS[3], "passed")]
    assert cluster.max_pods == 2


def test_a_gpu_that_no_pod_gets_is_unknown(cluster: Cluster) -> None:
    document = parse_document(run_burn("--gpu", UUIDS[1], "--yes", "-o", "json"))
    assert [(gpu["uuid"], gpu["outcome"]) for gpu in document["gpus"]] == [(UUIDS[1], "unknown")]
    assert document["exit"]["code"] == 8


def test_an_unknown_uuid_is_refused(cluster: Cluster) -> None:
    error = run_burn("--gpu", "GPU-none", "--yes").exception
    assert isinstance(error, GpustackError)
    assert error.reference == "gpu-no-gpu"


def test_a_gpu_lost_under_load_fails(cluster: Cluster) -> None:
    cluster.offers["gpu2"] = 1
    document = parse_document(run_burn("--yes", "-o", "json"))
    assert (document["exit"]["code"], len(document["lost_gpus"])) == (1, 1)


@pytest.mark.parametrize("words", [("--for", "30s"), ("--for", "2h")])
def test_the_time_is_bounded(cluster: Cluster, words: tuple[str, ...]) -> None:
    result = run_burn(*words, "--yes")
    assert result.exit_code == 2
    assert "allowed: 1m to 1h" in result.output


def test_without_temperatures_it_is_refused_unless_that_is_wanted(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise UnreachableError("prometheus-answer", "Prometheus is down.")

    monkeypatch.setattr(watch, "open_prometheus", refuse)
    error = run_burn("--yes").exception
    assert isinstance(error, GpustackError)
    assert (error.reference, error.reason) == ("gpu-heat-unknown", "Prometheus is down.")
    assert cluster.hosts.typed_commands == []
    document = parse_document(run_burn("--without-temperature", "--yes", "-o", "json"))
    assert {(gpu["outcome"], gpu["temperature_celsius"]) for gpu in document["gpus"]} == {("unknown", None)}


def test_a_prometheus_without_temperatures_is_refused(cluster: Cluster) -> None:
    cluster.differs = lambda time: {"GPU_TEMP": float("nan")}
    error = run_burn("--yes").exception
    assert isinstance(error, GpustackError)
    assert "temperature of 0 of 2 GPUs" in error.reason


def test_what_the_api_refuses_is_an_error_and_leaves_no_mark(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpustack.proof.pod import ApiRefused

    def refuse(manifest: object) -> None:
        raise ApiRefused("exceeded quota")

    monkeypatch.setattr(cluster, "create", refuse)
    error = run_burn("--yes").exception
    assert isinstance(error, GpustackError)
    assert error.reference == "gpu-not-held"
    assert cluster.hosts.list_actions()[-1].endswith("gpustack.io/temporary-load-")
