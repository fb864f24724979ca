"""Interruptions: an installation is broken off in every step and in many ways, and the next install converges.

The cases stand in faults.py. INTERRUPT_SEED chooses tasks and delays (printed, 4 by default), INTERRUPT_WRITE=FILE adds
what was tried and seen to a table there.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack_lab import lab
from tests.lab import aftermath, reliability
from tests.lab.conftest import Run
from tests.lab.faults import CASES, Case
from tests.lab.records import list_unrecorded
from tests.lab.reliability import Row
from tests.lab.stage import Stage
from tests.lab.story import POINTS, SEED, Story, build_random, open_story

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def story(make_lab: Callable[..., lab.Lab], mirror: lab.Mirror, gpustack: Run) -> Story:
    """INTERRUPT_LAB names a lab that stays up with its snapshots, for a second look at a case."""
    releases = ["debian-12", "debian-13"]
    if name := os.environ.get("INTERRUPT_LAB"):
        return open_story(lab.create_lab(name, releases=releases, mirror=mirror), gpustack)
    return Story(make_lab("broken", releases), gpustack)


# One of them is quick and telling enough for `make test`.
MARKED_STEPS = [
    pytest.param(case, id=case.id, marks=pytest.mark.short if case.id == "prereqs-2" else pytest.mark.slow)
    for case in CASES
]


@pytest.mark.parametrize("case", MARKED_STEPS)
def test_the_next_install_converges(case: Case, story: Story, tmp_path: Path) -> None:
    print(f"INTERRUPT_SEED={SEED}")
    story.restore_nearest(case.start)
    before = story.list_kept()
    stage = Stage(story, tmp_path, build_random(case.id), case.step_limit)
    story.point = ""
    unrecorded_paths = list_unrecorded(stage)
    try:
        text = case.play(stage)
    finally:
        for run in stage.runs:
            run.kill()
            print(f"$ gpustack {' '.join(run.words)}\n{run.read_output()}")
    assert list_unrecorded(stage) <= unrecorded_paths, "whatever a step began to write was recorded before"
    stage.inventory = None
    # What a killed Ansible left on hosts is found and removed by step prereqs.
    stage.step_limit = ",".join(dict.fromkeys(["prereqs", case.step_limit])) if case.step_limit else ""
    document, took = aftermath.install_again(stage)
    assert aftermath.list_leftovers(stage) == {}
    assert before <= story.list_kept()
    reliability.write(Row(case.id, case.fault, case.step, text, document, took))


def test_every_step_is_interrupted() -> None:
    assert {case.step for case in CASES} == {word for steps in POINTS.values() if steps for word in steps.split(",")}
