"""plan and verify warn of a runc without the repair on a kernel that writes over its memory."""

import pytest

from gpustack.ask.view import View
from gpustack.rollout.warnings import list_warnings
from gpustack.steps.containerd.runc import describe_overwritten_runc
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.hosts import build_snapshot

RUNC = "containerd.runc"
RECORDED_KERNEL = "6.18.44-fc-v657"
RESOLUTE = "7.0.0-14-generic"
UBUNTU = "1.3.3-0ubuntu1~24.04.3"
DEFECT = "the repair for kernels that write over runc's memory"
END = ": containers would fail at random (gpustack explain runc-kernel)"


def place_runc(case: str, kernel: str = RECORDED_KERNEL, *edits: tuple[str, str]) -> Answers:
    return place_answers("h1", read_case(RUNC, case, (RECORDED_KERNEL, kernel), *edits))


def describe_host(answers: Answers, state: str = "prepared") -> str:
    return describe_overwritten_runc(View(build_snapshot(answers, state=state), "h1"))


@pytest.mark.parametrize("kernel", ["6.17.0-5-generic", "6.18.39", "6.19-rc1", RESOLUTE, "7.1.4"])
def test_a_released_runc_before_the_first_good_one_lacks_the_repair(kernel: str) -> None:
    answers = place_runc("earlier", kernel)
    sentence = f"runc 1.4.3 lacks {DEFECT}, and {kernel} may be such a kernel{END}"
    assert describe_host(answers) == sentence
    assert f"h1: {sentence}" in list_warnings(build_snapshot(answers))


@pytest.mark.parametrize("version", ["1.1.5+ds1", UBUNTU])
def test_a_distribution_s_runc_may_have_the_repair(version: str) -> None:
    answers = place_runc("package-of-debian", RESOLUTE, ("version 1.1.5+ds1", f"version {version}"))
    assert describe_host(answers) == f"runc {version} may lack {DEFECT}, and {RESOLUTE} may be such a kernel{END}"


@pytest.mark.parametrize("kernel", ["6.1.0-41-amd64", "6.16.12", RECORDED_KERNEL, "7.1.5", "7.2.0-3-generic"])
def test_other_kernels_need_no_repair(kernel: str) -> None:
    assert describe_host(place_runc("earlier", kernel)) == ""
    assert describe_host(place_runc("none", kernel)) == ""


@pytest.mark.parametrize(
    ("version", "good"),
    [("1.3.7", False), ("1.4.4", True), ("1.4.10", True), ("1.5.1", False), ("1.5.2", True), ("1.6.0", True)],
)
def test_each_line_of_runc_has_its_first_good_patch(version: str, good: bool) -> None:
    sentence = describe_host(place_runc("usual", RESOLUTE, ("version 1.4.4", f"version {version}")))
    assert (sentence == "") is good


@pytest.mark.parametrize(("case", "reason"), [("none", "there is none"), ("no-version", "its version is unknown")])
def test_without_a_version_it_is_unknown_with_the_reason(case: str, reason: str) -> None:
    sentence = f"whether runc has {DEFECT} is unknown ({reason}), and {RESOLUTE} may be such a kernel{END}"
    assert describe_host(place_runc(case, RESOLUTE)) == sentence


def test_a_kernel_without_a_version_is_unknown() -> None:
    sentence = describe_host(place_runc("earlier", "custom"))
    assert sentence == f"runc 1.4.3 lacks {DEFECT}, and it is unknown whether custom is such a kernel{END}"


def test_an_answer_that_cannot_be_read_is_unknown_with_its_reason() -> None:
    sentence = describe_host(place_answers("h1", read_case(RUNC, "refused")))
    assert sentence.startswith(f"whether runc has {DEFECT} is unknown (")
    assert "126" in sentence


def test_a_host_without_containerd_or_without_its_packages_gets_no_warning() -> None:
    assert describe_host(place_runc("earlier", RESOLUTE), state="fresh") == ""
    no_packages = place_answers("h1", make_answer("packages.installed", "", rc=2))
    assert describe_host({**place_runc("earlier", RESOLUTE), **no_packages}) == ""
