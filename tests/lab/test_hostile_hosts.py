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
from tests.lab.hostile import ALONE, HOSTILE, PROGRAMS, answers, calling, harmlessly, put, talk

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
    return judged(gpustack, two)


@pytest.fixture
def spoil(two: lab.Lab) -> Iterator[Callable[..., None]]:
    """Puts programs of ours on host2, which are found before the real ones; they are gone at the end."""

    yield lambda names, script: put(two, names, script)
    put(two, (), "")


def judged(gpustack: Run, made: lab.Lab, *words: str) -> dict[Check, dict[str, Any]]:
    """Every check at every place, as `verify -o json -v` tells it."""
    result = gpustack("verify", "-i", made.inventory, "-o", "json", "-v", *words, code=None, limit=120)
    assert result.returncode in (1, 4, 8)
    harmlessly(result)
    states = json.loads(result.stdout)["states"]
    return {(state["step"], state["location"], check["check"]): check for state in states for check in state["checks"]}


def spoiled(now: dict[Check, dict[str, Any]], before: dict[Check, dict[str, Any]], names: tuple[str, ...]) -> set[str]:
    """Probes of host2 that call one of these programs and were answered otherwise than before. Fails where a check
    holds for such an answer, or where host1 is judged otherwise."""
    asked = calling(PROBES, names)
    found: set[str] = set()
    for key, check in now.items():
        if key[1] == "host1":
            assert check["outcome"] == before[key]["outcome"], key
        if key[1] != "host2":
            continue
        was = answers(before[key])
        other = {probe for probe, results in answers(check).items() if probe in asked and results != was.get(probe)}
        about = {probe for probe in other if (key[2], probe) not in ANOTHER_PART}
        assert not (about and check["outcome"] == "ok"), (key, check)
        found |= other
    return found


@pytest.mark.short
def test_programs_that_rave_are_never_ok(
    two: lab.Lab, before: dict[Check, dict[str, Any]], spoil: Callable[..., None], gpustack: Run
) -> None:
    spoil(PROGRAMS, HOSTILE["escapes"])
    assert len(spoiled(judged(gpustack, two), before, PROGRAMS)) > 12
    harmlessly(gpustack("plan", "-i", two.inventory, "-v", code=1))


@pytest.mark.slow
@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_answers_are_never_ok(
    two: lab.Lab, before: dict[Check, dict[str, Any]], spoil: Callable[..., None], gpustack: Run, how: str
) -> None:
    spoil(PROGRAMS, HOSTILE[how])
    found = spoiled(judged(gpustack, two), before, PROGRAMS)
    print(f"hostile answers: {len(found)} ({how}): {', '.join(sorted(found))}")
    assert len(found) > 8
    harmlessly(gpustack("plan", "-i", two.inventory, "-v", code=None))
    report = gpustack("verify", "-i", two.inventory, "-o", "junit", code=None)
    harmlessly(report)
    fromstring(report.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("how", ALONE)
def test_one_hostile_program_is_never_ok(
    two: lab.Lab, before: dict[Check, dict[str, Any]], spoil: Callable[..., None], gpustack: Run, how: str
) -> None:
    name, script = ALONE[how]
    spoil((name,), script)
    found = spoiled(judged(gpustack, two), before, (name,))
    print(f"hostile answers: {len(found)} ({how}): {', '.join(sorted(found))}")
    assert found
    harmlessly(gpustack("plan", "-i", two.inventory, "-v", code=None))


@pytest.mark.slow
def test_a_login_that_talks_changes_nothing(two: lab.Lab, before: dict[Check, dict[str, Any]], gpustack: Run) -> None:
    """A dotfile with escapes on both streams and an environment in German, a banner, a lecture of sudo's: the host is
    judged as before, and its lock is ours."""
    talk(two)
    now = judged(gpustack, two)
    assert {key: check["outcome"] for key, check in now.items()} == {
        key: check["outcome"] for key, check in before.items()
    }
    with lock(load_inventory(two.inventory).control_planes[0], "test") as held:
        assert held.loss_reason == ""
    harmlessly(gpustack("plan", "-i", two.inventory, "-v", code=1))
