from gpustack.ask.probe import CLUSTER
from gpustack.steps.taint import STEP
from tests.worlds.cases import recorded
from tests.worlds.cluster import K1, judged, states
from tests.worlds.judge import failures


def test_the_only_host_runs_ordinary_pods() -> None:
    assert failures(judged(STEP, hosts=(K1,))) == {"schedulable": ("k1", "install")}
    answers = {("kube.nodes", CLUSTER): recorded("kube.nodes", "debian-13")}
    assert failures(judged(STEP, answers, hosts=(K1,))) == {}


def test_another_taint_is_not_ours() -> None:
    answers = {
        ("kube.nodes", CLUSTER): recorded("kube.nodes", "control-plane", ("node-role.kubernetes.io/control-plane", "a"))
    }
    assert failures(judged(STEP, answers, hosts=(K1,))) == {}


def test_several_hosts_have_no_such_step() -> None:
    assert states(STEP) == []
