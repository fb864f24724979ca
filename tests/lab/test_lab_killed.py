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
from tests.lab.footprint import footprint, left_by

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
    whom: str
    then: str

    def __str__(self) -> str:
        return f"{self.verb}-{self.far:.2f}-{self.delay}ms-{self.whom}-then-{self.then}"


def moments() -> list[Moment]:
    """16, spread over each verb: one in every equal part of it."""
    draw = random.Random(SEED)
    parts = {"up": 5, "save": 2, "restore": 5, "down": 4}
    return [
        Moment(
            verb,
            (part + draw.random()) / of,
            draw.choice([0, 0, 2, 10, 50]),
            draw.choice(["alone", "group"]),
            draw.choice(["up", "down"]),
        )
        for verb, of in parts.items()
        for part in range(of)
    ]


def gpustack(verb: str, count: Path, *, step: int | str = 0, delay: int = 0, whom: str = "alone") -> int:
    """Exit status of the verb; -9 when it was killed."""
    words = [sys.executable, "-m", "tests.lab.cut", str(step), str(delay), whom, str(count)]
    done = subprocess.run(
        [*words, "lab", *VERBS[verb], "--name", NAME],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        start_new_session=True,
    )
    print(f"$ {verb}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.returncode


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """How many steps each verb has when nothing disturbs it."""
    count = tmp_path_factory.mktemp("steps") / "count"
    counted = {}
    try:
        for verb in VERBS:
            assert gpustack(verb, count) == 0
            counted[verb] = int(count.read_text())
    finally:
        lab.remove_lab(NAME, graceful=False)
    return counted


def contents(made: lab.Lab) -> list[str]:
    """What the file says that tells a host's disk, empty on a fresh one."""
    answers = [made.exec(host.name, ["sh", "-c", "cat state 2>/dev/null || :"], limit=60) for host in made.hosts]
    assert [answer.returncode for answer in answers] == [0, 0]
    return [answer.stdout.strip() for answer in answers]


def mark(made: lab.Lab, text: str) -> None:
    for host in made.hosts:
        assert made.exec(host.name, ["sh", "-c", f"echo {text} >state; sync"], limit=60).returncode == 0


@pytest.mark.short
def test_nothing_stays_of_a_lab_that_was_killed_before_its_first_disk(tmp_path: Path) -> None:
    before = footprint()
    try:
        assert gpustack("up", tmp_path / "count", step="snapshot") == -9
        assert state.read(NAME)
    finally:
        lab.remove_lab(NAME)
    assert left_by(NAME, before) == set()


@pytest.mark.slow
@pytest.mark.parametrize("moment", moments(), ids=str)
def test_nothing_stays_of_a_lab_whose_command_was_killed(moment: Moment, steps: dict[str, int], tmp_path: Path) -> None:
    before = footprint()
    try:
        if moment.verb != "up":
            made = lab.create_lab(NAME, releases=RELEASES)
            mark(made, "saved")
            made.save("clean")
            mark(made, "changed")
        step = max(1, int(steps[moment.verb] * moment.far))
        assert gpustack(moment.verb, tmp_path / "count", step=step, delay=moment.delay, whom=moment.whom) == -9
        if moment.then == "up":
            again = lab.create_lab(NAME, releases=RELEASES)
            assert len(set(contents(again))) == 1, "disks of different times are mixed"
            if moment.verb == "save":
                restorable(again)
        lab.remove_lab(NAME)
        assert left_by(NAME, before) == set()
    finally:
        lab.remove_lab(NAME, graceful=False)


def restorable(made: lab.Lab) -> None:
    """A snapshot that was cut off is the new one, or none; never one of some hosts."""
    snapshot = snapshots.locate_snapshot(made.record, "clean")
    if all((snapshot / host.name).exists() for host in made.hosts):
        made.restore("clean")
        assert contents(made) in (["saved", "saved"], ["changed", "changed"])
    else:
        with pytest.raises(LabError, match="no snapshot 'clean'"):
            made.restore("clean")


@pytest.mark.slow
@pytest.mark.parametrize("then", ["restore", "up"])
def test_a_restore_that_was_killed_is_finished(then: str, tmp_path: Path) -> None:
    """While its mirror lives the lab is not dead, so `up` goes on with it."""
    serve = [sys.executable, "-m", "http.server", "8480", "--directory", str(tmp_path), "--bind"]
    mirror = lab.Mirror(lambda address: [*serve, address], 8480, "0" * 40)
    try:
        made = lab.create_lab(NAME, releases=RELEASES, mirror=mirror)
        mark(made, "saved")
        made.save("clean")
        mark(made, "changed")
        assert gpustack("restore", tmp_path / "count", step="snapshot") == -9
        assert not (made.record.roots / "hosts" / "host1").exists()
        if then == "restore":
            made.restore("clean")
        else:
            lab.create_lab(NAME, releases=RELEASES, mirror=mirror)
        assert contents(made) == ["saved", "saved"]
    finally:
        lab.remove_lab(NAME, graceful=False)
