import pytest

from gpustack.steps.helm import STEP
from tests.worlds.cases import answers_at, recorded, written
from tests.worlds.cluster import judged
from tests.worlds.judge import failures

PROGRAM = ("helm.program", "k1")
UNMONITORED = {"monitoring": {"enabled": False}}
GPUS = answers_at("k2", recorded("gpu.devices", "prepared-debian-13"))


@pytest.mark.parametrize(("out", "found"), [("\n", "nothing"), ("v4.2.4\n", "4.2.4")])
def test_none_or_another_one_is_for_install(out: str, found: str) -> None:
    assert failures(judged(STEP, {PROGRAM: written("helm.program", out)})) == {"program": (found, "install")}


def test_where_nothing_is_installed_with_it_none_is_needed() -> None:
    answers = {PROGRAM: recorded("helm.program", "none")}
    assert failures(judged(STEP, answers, UNMONITORED)) == {}
    assert failures(judged(STEP, answers | GPUS, UNMONITORED)) == {"program": ("nothing", "install")}


def test_what_is_no_helm_is_unknown() -> None:
    judgements = judged(STEP, {PROGRAM: recorded("helm.program", "odd")})
    assert judgements["program"].outcome == "unknown"
