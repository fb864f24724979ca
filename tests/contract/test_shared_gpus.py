"""Pods that share a GPU, in a real Prometheus: rules and reader have each GPU once, and each pod what is its own.

The pages are recorded ones, with the labels that dcgm-exporter 4.8.2 adds with --kubernetes-virtual-gpus: utilisation
and memory in use are there of the GPU and of each pod's own processes, other fields once a pod with the value of the
GPU (internal/pkg/transformation, kubernetes.go and process_metrics.go).
"""

import time
from collections.abc import Iterator

import pytest

from gpustack.gpus import activity, fleet, queries
from gpustack.gpus.queries import query_readings
from gpustack.metrics.exposition import parse_page
from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.web import Access
from tests.contract import prometheus_server
from tests.contract.promtool import run_promtool
from tests.unit.gpus.exporter_faults import read_page

PAGES = {"n1": "l4", "n2": "l40s"}
OWN_FIELDS = ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED")
GPU_VALUES = {"DCGM_FI_DEV_GPU_UTIL": 80.0, "DCGM_FI_DEV_FB_USED": 9000.0, "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.7}
PODS = {
    "a": {"DCGM_FI_DEV_GPU_UTIL": 60.0, "DCGM_FI_DEV_FB_USED": 6000.0},
    "b": {"DCGM_FI_DEV_GPU_UTIL": 20.0, "DCGM_FI_DEV_FB_USED": 2000.0},
}
# Each group of rules begins at its own moment.
SERIES_NAMES = ("gpu:info", "gpu_memory_used:bytes", "gpu_utilisation:ratio", "gpu_power:watts", "gpu_active:ratio")
MIB = 2**20
PATIENCE = 120
STEP = 30

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def list_series(honoured: bool) -> Iterator[tuple[str, float]]:
    """List the series as Prometheus stores them, with the labels of a target."""
    prefix = "" if honoured else "exported_"
    for node, name in PAGES.items():
        target = {"job": "gpus", "instance": f"{node}:9400"}
        exporter = {"namespace": "watch", "pod": f"numbers-{node}"}
        yield format_series("up", target | exporter), 1.0
        for family in parse_page(read_page(name)).families:
            for series in family.series:
                value = GPU_VALUES.get(family.name, series.points[-1][1])
                labels = {key: text for key, text in series.labels.items() if key != "__name__"}
                labels |= target | {"Hostname": node}
                if family.name in OWN_FIELDS:
                    yield format_series(family.name, labels | exporter), value
                for index, (pod, own_values) in enumerate(PODS.items()):
                    workload = {f"{prefix}namespace": "t", f"{prefix}pod": f"{pod}-{node}", f"{prefix}container": "c"}
                    pod_labels = ({} if honoured else exporter) | workload | {"vgpu": str(index)}
                    yield format_series(family.name, labels | pod_labels), own_values.get(family.name, value)


def format_series(name: str, labels: dict[str, str]) -> str:
    text = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{name}{{{text}}}"


@pytest.fixture(scope="module", params=[False, True], ids=["exported_pod", "pod"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[prometheus_server.Prometheus]:
    """Serve series of ten minutes until now: Prometheus refuses what rules record before the end of a block."""
    folder, current_time = tmp_path_factory.mktemp("shared"), int(time.time())
    series = list(list_series(request.param))
    moments = range(current_time - 600, current_time + 1, STEP)
    lines = [f"{name} {value} {moment}\n" for moment in moments for name, value in series]
    (folder / "series.txt").write_text("".join([*lines, "# EOF\n"]))
    assert run_promtool("tsdb", "create-blocks-from", "openmetrics", folder / "series.txt", folder / "data") == ""
    prometheus_server.write_rules(folder)
    options = {"query.lookback-delta": prometheus_server.SPAN}
    command = prometheus_server.build_data_command(folder, {"rule_files": ["rules.yaml"]}, options)
    with prometheus_server.run_prometheus(folder, command) as prometheus:
        deadline = time.monotonic() + PATIENCE
        while (
            any(not prometheus.answer(name) for name in map("gpustack:{}".format, SERIES_NAMES))
            and time.monotonic() < deadline
        ):
            time.sleep(0.5)
        yield prometheus


def sum_values(server: prometheus_server.Prometheus, expr: str, *names: str) -> dict[str, float]:
    """Sum the values of an expression by these labels."""
    answer = server.answer(f"sum by ({', '.join(names)}) ({expr})")
    return {" ".join(series["metric"].get(name, "") for name in names): float(series["value"][1]) for series in answer}


def test_rules_have_each_gpu_once(server: prometheus_server.Prometheus) -> None:
    assert sum_values(server, "gpustack:gpu:info", "node") == {"n1": 1.0, "n2": 1.0}
    memory = 'max by (node, UUID) (gpustack:gpu_memory_used:bytes{workload_pod=""})'
    assert sum_values(server, memory, "node") == {"n1": 9000 * MIB, "n2": 9000 * MIB}
    power = "max by (node, UUID) (gpustack:gpu_power:watts)"
    assert sum_values(server, power, "node") == pytest.approx({"n1": 16.365, "n2": 35.686})


def test_rules_have_of_each_pod_what_is_its_own(server: prometheus_server.Prometheus) -> None:
    memory = sum_values(server, 'gpustack:gpu_memory_used:bytes{workload_pod!=""}', "workload_pod")
    assert memory == {f"{pod}-{node}": PODS[pod][OWN_FIELDS[1]] * MIB for pod in PODS for node in PAGES}
    utilisation = sum_values(server, 'gpustack:gpu_utilisation:ratio{workload_pod!=""}', "workload_pod")
    assert utilisation == {f"{pod}-{node}": PODS[pod][OWN_FIELDS[0]] / 100 for pod in PODS for node in PAGES}
    active = sum_values(server, "gpustack:gpu_active:ratio", "workload_pod")
    assert active == {f"{pod}-{node}": 0.7 for pod in PODS for node in PAGES}


def test_commands_have_each_gpu_once(server: prometheus_server.Prometheus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader looks back for as long as the rules, since this machine may be slow."""
    monkeypatch.setattr(queries, "LOOKBACK_SECONDS", 1800)
    prometheus = Prometheus(Access(server.url))
    work = activity.build_activity(query_readings(prometheus, activity.FIELDS))
    assert [gpu.gpu.node for gpu in work.gpus] == list(PAGES)
    for gpu in work.gpus:
        assert (gpu.memory, gpu.utilisation, gpu.engine) == (9000 * MIB, 0.8, 0.7)
        assert [owner.path for owner in gpu.owners] == [f"t/{pod}-{gpu.gpu.node}" for pod in PODS]
    assert work.doubts == ()
    cards = fleet.build_fleet(query_readings(prometheus, fleet.FIELDS), prometheus.fetch_time(), {}).cards
    assert [(card.gpu.node, len(card.owners)) for card in cards] == [("n1", 2), ("n2", 2)]
