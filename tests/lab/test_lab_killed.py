"""`gpustack lab` ended by kill -9 at any moment: the next command leaves nothing of the lab on the machine.

The moments are drawn by a seed: verb, how far it had come, how long the program it had just started was at work,
whether that program was killed too, and the command that follows. GPUSTACK_SEED draws others.
"""

import os
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpustack.errors import LabError
from gpustack_lab import lab
from gpustack_lab.lab import snapshots, state
from tests.lab.footprint import find_leftovers, list_footprint

pytestmark = pytest.mark.lab

SEED = int(os.environ.get("GPUSTACK_SEED", "9"))
NAME = f"t{os.getpid()}-killed"
RELEASES = ["debian-12", "debian-12"]
VERBS = {
    "up": ["up", "--hosts", "2", "--os", "debian-12"],
    "save": ["save", "clean"],
    "restore": ["restore", "clean"],
    "down": ["down"],
}


@dataclass(frozen=True)
class Moment:
    """`far` of all steps of the verb, `delay` ms after it."""

    verb: str
    far: float
    delay: int
    target: str
    next_verb: str

    def __str__(self) -> str:
        return f"{self.verb}-{self.far:.2f}-{self.delay}ms-{self.target}-then-{self.next_verb}"


def draw_moments() -> list[Moment]:
    """Draw 16 moments, spread over each verb: one in every equal part of it."""
    draw = random.Random(SEED)
    parts = {"up": 5, "save": 2, "restore": 5, "down": 4}
    return [
        Moment(
            verb,
            (part + draw.random()) / part_count,
            draw.choice([0, 0, 2, 10, 50]),
            draw.choice(["alone", "group"]),
            draw.choice(["up", "down"]),
        )
        for verb, part_count in parts.items()
        for part in range(part_count)
    ]


def run_gpustack(verb: str, count: Path, *, step: int | str = 0, delay: int = 0, target: str = "alone") -> int:
    """Exit status of the verb; -9 when it was killed."""
    words = [sys.executable, "-m", "tests.lab.cut", str(step), str(delay), target, str(count)]
    process = subprocess.run(
        [*words, "lab", *VERBS[verb], "--name", NAME],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        start_new_session=True,
    )
    print(f"$ {verb}: {process.returncode}\n{process.stdout}{process.stderr}")
    return process.returncode


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """The number of steps of each verb when nothing disturbs it."""
    count = tmp_path_factory.mktemp("steps") / "count"
    counts = {}
    try:
        for verb in VERBS:
            assert run_gpustack(verb, count) == 0
            counts[verb] = int(count.read_text())
    finally:
        lab.remove_lab(NAME, graceful=False)
    return counts


def read_contents(running_lab: lab.Lab) -> list[str]:
    """Read the file that tells a host's disk, empty on a fresh one."""
    answers = [
        running_lab.exec(host.name, ["sh", "-c", "cat state 2>/dev/null || :"], limit=60) for host in running_lab.hosts
    ]
    assert [answer.returncode for answer in answers] == [0, 0]
    return [answer.stdout.strip() for answer in answers]


def mark(running_lab: lab.Lab, text: str) -> None:
    for host in running_lab.hosts:
        assert running_lab.exec(host.name, ["sh", "-c", f"echo {text} >state; sync"], limit=60).returncode == 0


@pytest.mark.short
def test_nothing_stays_of_a_lab_that_was_killed_before_its_first_disk(tmp_path: Path) -> None:
    before = list_footprint()
    try:
        assert run_gpustack("up", tmp_path / "count", step="snapshot") == -9
        assert state.read(NAME)
    finally:
        lab.remove_lab(NAME)
    assert find_leftovers(NAME, before) == set()


@pytest.mark.slow
@pytest.mark.parametrize("moment", draw_moments(), ids=str)
def test_nothing_stays_of_a_lab_whose_command_was_killed(moment: Moment, steps: dict[str, int], tmp_path: Path) -> None:
    before = list_footprint()
    try:
        if moment.verb != "up":
            made_lab = lab.create_lab(NAME, releases=RELEASES)
            mark(made_lab, "saved")
            made_lab.save("clean")
            mark(made_lab, "changed")
        step = max(1, int(steps[moment.verb] * moment.far))
        assert run_gpustack(moment.verb, tmp_path / "count", step=step, delay=moment.delay, target=moment.target) == -9
        if moment.next_verb == "up":
            second_lab = lab.create_lab(NAME, releases=RELEASES)
            assert len(set(read_contents(second_lab))) == 1, "disks of different times are mixed"
            if moment.verb == "save":
                assert_restorable(second_lab)
        lab.remove_lab(NAME)
        assert find_leftovers(NAME, before) == set()
    finally:
        lab.remove_lab(NAME, graceful=False)


def assert_restorable(running_lab: lab.Lab) -> None:
    """Assert that a snapshot that was cut off is the new one, or none; never one of some hosts."""
    snapshot = snapshots.locate_snapshot(running_lab.record, "clean")
    if all((snapshot / host.name).exists() for host in running_lab.hosts):
        running_lab.restore("clean")
        assert read_contents(running_lab) in (["saved", "saved"], ["changed", "changed"])
    else:
        with pytest.raises(LabError, match="no snapshot 'clean'"):
            running_lab.restore("clean")


@pytest.mark.slow
@pytest.mark.parametrize("next_verb", ["restore", "up"])
def test_a_restore_that_was_killed_is_finished(next_verb: str, tmp_path: Path) -> None:
    """The mirror of the lab lives, so the lab is not dead, and `up` goes on with it."""
    serve = [sys.executable, "-m", "http.server", "8480", "--directory", str(tmp_path), "--bind"]
    mirror = lab.Mirror(lambda address: [*serve, address], 8480, "0" * 40)
    try:
        made_lab = lab.create_lab(NAME, releases=RELEASES, mirror=mirror)
        mark(made_lab, "saved")
        made_lab.save("clean")
        mark(made_lab, "changed")
        assert run_gpustack("restore", tmp_path / "count", step="snapshot") == -9
        assert not (made_lab.record.roots / "hosts" / "host1").exists()
        if next_verb == "restore":
            made_lab.restore("clean")
        else:
            lab.create_lab(NAME, releases=RELEASES, mirror=mirror)
        assert read_contents(made_lab) == ["saved", "saved"]
    finally:
        lab.remove_lab(NAME, graceful=False)
