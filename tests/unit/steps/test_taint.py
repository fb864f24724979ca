from gpustack.ask.probe import CLUSTER
from gpustack.steps.taint import STEP
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.cluster import K1, judge, judge_steps
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


def test_several_hosts_have_no_such_step() -> None:
    assert judge_steps(STEP) == []
