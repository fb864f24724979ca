import pytest

from gpustack.steps.helm import STEP
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.cluster import judge
from tests.worlds.snapshots.judge import list_failures

PROGRAM = ("helm.program", "k1")
UNMONITORED_SPEC = {"monitoring": {"enabled": False}}
GPUS = place_answers("k2", read_case("gpu.devices", "prepared-debian-13"))


@pytest.mark.parametrize(("output", "actual"), [("\n", "nothing"), ("v4.2.4\n", "4.2.4")])
def test_a_missing_or_other_helm_is_for_install(output: str, actual: str) -> None:
    assert list_failures(judge(STEP, {PROGRAM: make_answer("helm.program", output)})) == {
        "program": (actual, "install")
    }


def test_where_nothing_is_installed_with_it_none_is_needed() -> None:
    answers = {PROGRAM: read_case("helm.program", "none")}
    assert list_failures(judge(STEP, answers, UNMONITORED_SPEC)) == {}
    assert list_failures(judge(STEP, answers | GPUS, UNMONITORED_SPEC)) == {"program": ("nothing", "install")}


def test_what_is_no_helm_is_unknown() -> None:
    judgements = judge(STEP, {PROGRAM: read_case("helm.program", "odd")})
    assert judgements["program"].outcome == "unknown"
