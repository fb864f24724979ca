"""A host whose programs lie, rave, hang or die, and whose login talks: it is never ok for that, nothing of it reaches
the terminal, and the host beside it is judged as ever."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from gpustack.config.inventory import load_inventory
from gpustack.rollout.lock import lock
from gpustack.steps import PROBES
from gpustack_lab import lab
from tests.lab.conftest import Run
from tests.lab.hostile import (
    ALONE,
    HOSTILE,
    PROGRAMS,
    assert_harmless,
    find_calling,
    index_answers,
    install_talking_login,
    put,
)

pytestmark = pytest.mark.lab
Check = tuple[str, str, str]
# They read one part of that answer, for which no program is asked: the shell reads /proc/sys, and a lab's kernel has
# no AppArmor.
ANOTHER_PART = {("apparmor", "kernel.modules"), ("sysctls", "kernel.sysctls")}


@pytest.fixture(scope="module")
def two(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    return make_lab("hostile", ["debian-12", "debian-13"], served=False)


@pytest.fixture(scope="module")
def before(two: lab.Lab, gpustack: Run) -> dict[Check, dict[str, Any]]:
    return run_verify(gpustack, two)


@pytest.fixture
def spoil(two: lab.Lab) -> Iterator[Callable[..., None]]:
    """Put programs of ours on host2, which are found before the real ones; they are gone at the end."""

    yield lambda names, script: put(two, names, script)
    put(two, (), "")


def run_verify(gpustack: Run, running_lab: lab.Lab, *words: str) -> dict[Check, dict[str, Any]]:
    """Run `verify -o json -v`, and return every check at every place."""
    result = gpustack("verify", "-i", running_lab.inventory, "-o", "json", "-v", *words, code=None, limit=120)
    assert result.returncode in (1, 4, 8)
    assert_harmless(result)
    states = json.loads(result.stdout)["states"]
    return {(state["step"], state["location"], check["check"]): check for state in states for check in state["checks"]}


def find_spoiled(
    after: dict[Check, dict[str, Any]], before: dict[Check, dict[str, Any]], names: tuple[str, ...]
) -> set[str]:
    """Find the probes of host2 that call one of these programs and were answered otherwise than before. Fail where a
    check holds for such an answer, or where host1 is judged otherwise."""
    called_probes = find_calling(PROBES, names)
    wrong_probes: set[str] = set()
    for key, check in after.items():
        if key[1] == "host1":
            assert check["outcome"] == before[key]["outcome"], key
        if key[1] != "host2":
            continue
        was = index_answers(before[key])
        other_probes = {
            probe
            for probe, results in index_answers(check).items()
            if probe in called_probes and results != was.get(probe)
        }
        probes = {probe for probe in other_probes if (key[2], probe) not in ANOTHER_PART}
        assert not (probes and check["outcome"] == "ok"), (key, check)
        wrong_probes |= other_probes
    return wrong_probes


@pytest.mark.short
def test_programs_that_rave_are_never_ok(
    two: lab.Lab, before: dict[Check, dict[str, Any]], spoil: Callable[..., None], gpustack: Run
) -> None:
    spoil(PROGRAMS, HOSTILE["escapes"])
    assert len(find_spoiled(run_verify(gpustack, two), before, PROGRAMS)) > 12
    assert_harmless(gpustack("plan", "-i", two.inventory, "-v", code=1))


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", HOSTILE)
def test_hostile_answers_are_never_ok(
    two: lab.Lab, before: dict[Check, dict[str, Any]], spoil: Callable[..., None], gpustack: Run, behaviour: str
) -> None:
    spoil(PROGRAMS, HOSTILE[behaviour])
    spoiled_probes = find_spoiled(run_verify(gpustack, two), before, PROGRAMS)
    print(f"hostile answers: {len(spoiled_probes)} ({behaviour}): {', '.join(sorted(spoiled_probes))}")
    assert len(spoiled_probes) > 8
    assert_harmless(gpustack("plan", "-i", two.inventory, "-v", code=None))
    report = gpustack("verify", "-i", two.inventory, "-o", "junit", code=None)
    assert_harmless(report)
    fromstring(report.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", ALONE)
def test_one_hostile_program_is_never_ok(
    two: lab.Lab, before: dict[Check, dict[str, Any]], spoil: Callable[..., None], gpustack: Run, behaviour: str
) -> None:
    name, script = ALONE[behaviour]
    spoil((name,), script)
    spoiled_probes = find_spoiled(run_verify(gpustack, two), before, (name,))
    print(f"hostile answers: {len(spoiled_probes)} ({behaviour}): {', '.join(sorted(spoiled_probes))}")
    assert spoiled_probes
    assert_harmless(gpustack("plan", "-i", two.inventory, "-v", code=None))


@pytest.mark.slow
def test_a_login_that_talks_changes_nothing(two: lab.Lab, before: dict[Check, dict[str, Any]], gpustack: Run) -> None:
    """A dotfile with escapes on both streams and an environment in German, a banner, a lecture of sudo's: the host is
    judged as before, and its lock is ours."""
    install_talking_login(two)
    result = run_verify(gpustack, two)
    assert {key: check["outcome"] for key, check in result.items()} == {
        key: check["outcome"] for key, check in before.items()
    }
    with lock(load_inventory(two.inventory).control_planes[0], "test") as held_lock:
        assert held_lock.loss_reason == ""
    assert_harmless(gpustack("plan", "-i", two.inventory, "-v", code=1))
