"""Host engines are found, and the pod or host that reaches them."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.config.host import CONTROL_PLANE, Host
from gpustack.config.spec import Spec
from gpustack.engines.engine import NO_ENGINE, PROBES, find_engines, find_idle, select_free
from gpustack.errors import MissingDataError, UnreachableError, UsageError
from gpustack.probes.gpu.temporary_changes import PROFILING, Mark
from gpustack.probes.proof import PROCESS, PROOF_NAMESPACE
from gpustack.process import name_process
from tests.worlds.snapshots.build import TAKEN_AT, build

KUBE1 = Host("kube1", "10.0.0.1", groups=frozenset({CONTROL_PLANE}))
HOSTS = (KUBE1, Host("box3", "10.0.0.3"))
IDS = {"gpu1": "1" * 32, "gpu2": "2" * 32, "gpu3": "3" * 32}


def build_node(name: str, gpus: str = "2", replicas: str = "1") -> dict[str, object]:
    status = {
        "capacity": {"nvidia.com/gpu": gpus},
        "allocatable": {"nvidia.com/gpu": gpus},
        "nodeInfo": {"machineID": IDS.get(name, "0" * 32)},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {"metadata": {"name": name, "labels": {"nvidia.com/gpu.replicas": replicas}}, "status": status}


def build_pod(node: str, phase: str) -> dict[str, object]:
    return {
        "metadata": {"name": f"nvidia-dcgm-{node}", "namespace": "gpu-operator"},
        "spec": {"nodeName": node},
        "status": {"phase": phase},
    }


def build_user_pod(node: str, name: str) -> dict[str, object]:
    namespace, _, pod = name.partition("/")
    containers = [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]
    # What a gpustack of this machine left that has ended.
    annotations = {PROCESS: name_process().rpartition(".")[0] + ".1"} if namespace == PROOF_NAMESPACE else {}
    metadata = {"namespace": namespace, "name": pod, "annotations": annotations}
    return {"metadata": metadata, "spec": {"nodeName": node, "containers": containers}}


def build_snapshot(
    *, engine: str = "engine nvidia-dcgm.service *:5555", nodes: bool = True, replicas: str = "1", mark: str = ""
) -> Snapshot:
    def render_list(*items: Any) -> str:
        return json.dumps({"items": items})

    pause_marks = {"gpustack.io/temporary-profiling": mark} if mark else {}
    marks = {
        "metadata": {
            "name": "gpu1",
            "annotations": {"gpustack.io/temporary-policy": "x", **pause_marks, "gpustack.io/other": "y"},
        }
    }
    answers = {
        ("gpu.engine-pods", "@cluster"): render_list(build_pod("gpu1", "Running"), build_pod("gpu2", "Pending")),
        ("gpu.temporary", "@cluster"): render_list(marks),
        ("proof.pods", "@cluster"): render_list(
            build_user_pod("gpu3", "team-a/train-0"), build_user_pod("gpu1", "gpustack-proof/hold-1")
        ),
        ("gpu.host-engines", "box3"): f"{engine}\n",
        ("system.identity", "box3"): f"{IDS['gpu3']}\n\n",
    }
    if nodes:
        answers["proof.nodes", "@cluster"] = render_list(
            *(build_node(name, replicas=replicas) for name in IDS), build_node("kube1", "0")
        )
    ids = {probe.id for probe in PROBES}
    assert {key[0] for key in answers} <= ids, ids
    return build(HOSTS, {key: Answer(key[0], key[1], 0, stdout) for key, stdout in answers.items()})


def test_engines_are_found_in_pods_and_on_hosts() -> None:
    engines = find_engines(build_snapshot())
    engine, three = engines.members
    assert (engine.node, engine.via, three.node, three.via) == ("gpu1", KUBE1, "gpu3", HOSTS[1])
    assert engine.build_command(("group", "--list")) == (
        "kubectl --kubeconfig /etc/kubernetes/admin.conf --namespace gpu-operator exec nvidia-dcgm-gpu1 "
        "--container nvidia-dcgm-ctr -- dcgmi group --list --host localhost"
    )
    assert three.build_command(("group", "--list")) == "dcgmi group --list --host 127.0.0.1:5555"
    assert engines.unread == {"gpu2": "its pod nvidia-dcgm-gpu2 is not running"}
    assert engines.marks == {("gpu1", "policy"): "x"}
    assert engines.standing == {}


def test_only_named_nodes_are_asked() -> None:
    assert [engine.node for engine in find_engines(build_snapshot(), ["gpu3"]).members] == ["gpu3"]
    with pytest.raises(UsageError) as excinfo:
        find_engines(build_snapshot(), ["kube1"])
    assert excinfo.value.reference == "gpu-no-node"


def test_a_cluster_without_engines_is_refused() -> None:
    with pytest.raises(MissingDataError) as excinfo:
        find_engines(build_snapshot(engine="package datacenter-gpu-manager-4-core installed 4.6.0"), ["gpu3"])
    assert excinfo.value.reference == "gpu-no-engine"
    assert NO_ENGINE in excinfo.value.reason
    assert excinfo.value.hint.startswith("gpu.dcgm: standalone in the spec; then: gpustack install")


def test_an_engine_that_the_spec_asks_for_is_no_setting_to_add() -> None:
    snapshot = build_snapshot(engine="package datacenter-gpu-manager-4-core installed 4.6.0")
    spec = Spec.model_validate({"gpu": {"dcgm": "standalone"}})
    snapshot = replace(snapshot, inventory=replace(snapshot.inventory, spec=spec))
    with pytest.raises(MissingDataError) as excinfo:
        find_engines(snapshot, ["gpu3"])
    assert excinfo.value.hint == "gpustack explain gpu-no-engine"


def test_an_engine_without_a_port_is_refused() -> None:
    with pytest.raises(MissingDataError) as excinfo:
        find_engines(build_snapshot(engine="engine nvidia-dcgm.service -"), ["gpu3"])
    assert "no TCP port" in excinfo.value.reason


def test_a_silent_api_is_an_error() -> None:
    with pytest.raises(UnreachableError):
        find_engines(build_snapshot(nodes=False))


def test_only_nodes_whose_gpus_are_all_free_are_tested_under_load() -> None:
    """Pods of an earlier test do not count: they are removed before."""
    engines = select_free(find_engines(build_snapshot()))
    assert [(engine.node, engine.gpus) for engine in engines.members] == [("gpu1", 2)]
    assert engines.unread["gpu3"] == "its GPUs are in use: team-a/train-0"
    with pytest.raises(MissingDataError) as excinfo:
        select_free(find_engines(build_snapshot(), ["gpu3"]))
    assert excinfo.value.reference == "gpu-busy"


def test_free_gpus_are_found_with_and_without_an_engine() -> None:
    """A pod has one of gpu3's two GPUs; gpu2 has no engine; pods of an earlier load are removed before."""
    idle = find_idle(build_snapshot())
    assert [(member.node, member.free, member.gpus, member.address) for member in idle.members] == [
        ("gpu1", 2, 2, "localhost"), ("gpu2", 2, 2, ""), ("gpu3", 1, 2, "127.0.0.1:5555"),
    ]  # fmt: skip
    assert idle.unread == {}


def test_shared_gpus_are_not_loaded() -> None:
    with pytest.raises(MissingDataError) as excinfo:
        find_idle(build_snapshot(replicas="4"))
    assert excinfo.value.reference == "gpu-none-free"
    assert excinfo.value.reason.splitlines()[1:] == [
        "gpu2: its GPUs are shared by time-slicing or MPS: several pods get the same one",
        "gpu3: its GPUs are in use: team-a/train-0",
    ]


@pytest.mark.parametrize(("minutes", "free"), [(5, ["gpu2", "gpu3"]), (-5, ["gpu1", "gpu2", "gpu3"])])
def test_a_node_whose_profiling_is_paused_is_not_loaded(minutes: int, free: list[str]) -> None:
    """The metrics of such a node are missing. An overdue change is put back before."""
    pause_mark = Mark("gpu1", PROFILING, TAKEN_AT + timedelta(minutes=minutes), "bob").text
    idle = find_idle(build_snapshot(mark=pause_mark))
    assert [engine.node for engine in idle.members] == free
    assert ("profiling is paused there until 05:05 UTC" in idle.unread.get("gpu1", "")) == (minutes > 0)
