from dataclasses import replace

from gpustack.ask.probe import CLUSTER
from gpustack.config.host import CONTROL_PLANE, NODE
from gpustack.steps.taint import STEP
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.cluster import K1, K2, judge, judge_steps
from tests.worlds.snapshots.judge import list_failures


def test_the_only_host_runs_ordinary_pods() -> None:
    assert list_failures(judge(STEP, hosts=(K1,))) == {"schedulable": ("k1", "install")}
    answers = place_answers(CLUSTER, read_case("kube.nodes", "debian-13"))
    assert list_failures(judge(STEP, answers, hosts=(K1,))) == {}


def test_another_taint_is_not_ours() -> None:
    answers = place_answers(
        CLUSTER, read_case("kube.nodes", "control-plane", ("node-role.kubernetes.io/control-plane", "a"))
    )
    assert list_failures(judge(STEP, answers, hosts=(K1,))) == {}


def test_a_control_plane_alone_keeps_its_taint() -> None:
    assert judge_steps(STEP) == []


def test_a_control_plane_among_the_hosts_of_pods_runs_them() -> None:
    plane = replace(K1, groups=frozenset({CONTROL_PLANE, NODE}))
    assert list_failures(judge(STEP, hosts=(plane, K2))) == {"node-group": ("k1", "install")}
    case = read_case("kube.nodes", "control-plane", ("node-role.kubernetes.io/control-plane", "a"))
    assert list_failures(judge(STEP, place_answers(CLUSTER, case), hosts=(plane, K2))) == {}


def test_a_taint_beside_other_nodes_is_no_fault_of_the_catalogue() -> None:
    """The catalogue's fault of a taint is of a cluster without any node for pods."""
    plane = replace(K1, groups=frozenset({CONTROL_PLANE, NODE}))
    result = judge(STEP, hosts=(plane, K2))["node-group"].result
    assert result
    assert result.fault == ""
