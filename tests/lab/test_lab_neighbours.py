"""Labs beside each other: two checkouts at once, a lab whose record is broken, and the settings that all share."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gpustack
import gpustack_lab
from gpustack.errors import LabError
from gpustack_lab import lab
from gpustack_lab.lab import cgroups, locks, state, sysctls
from tests.lab.footprint import find_leftovers, list_footprint

pytestmark = pytest.mark.lab

FIRST, TWO = f"t{os.getpid()}-one", f"t{os.getpid()}-two"
# What a kubelet and a distribution's own files set on a host, and so on the machine.
WRITES = {"vm/overcommit_memory": 1, "kernel/panic": 11, "kernel/panic_on_oops": 1, "kernel/keys/root_maxkeys": 1000001}
NAMES = [name for name in (*sysctls.LAB_SYSCTLS, *sysctls.HOST_SYSCTLS) if (sysctls.PROC / name).exists()]


class Checkout:
    """A copy of the source tree, used from its own folder as a developer does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(gpustack.__file__).parent, folder / "gpustack", ignore=ignore)
        shutil.copytree(Path(gpustack_lab.__file__).parent, folder / "lab" / "gpustack_lab", ignore=ignore)
        self.env = os.environ | {"PYTHONPATH": f"{folder}:{folder / 'lab'}"}
        self.name = self.run_python("from gpustack_lab.lab import state; print(state.compute_default_name())")

    def run_python(self, script: str) -> str:
        argv = [sys.executable, "-c", script]
        return subprocess.check_output(argv, cwd=self.folder, env=self.env, text=True, timeout=60).strip()

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        argv = [sys.executable, "-m", "gpustack.cli.app", "lab", *words]
        output = subprocess.PIPE
        return subprocess.Popen(argv, cwd=self.folder, env=self.env, stdout=output, stderr=subprocess.STDOUT, text=True)

    def run_lab(self, *words: str) -> str:
        return wait_for_end(self.begin(*words))


def wait_for_end(process: "subprocess.Popen[str]") -> str:
    text, _ = process.communicate(timeout=300)
    assert process.returncode == 0, text
    return text


@pytest.fixture
def checkouts(tmp_path: Path) -> Iterator[list[Checkout]]:
    checkouts = [Checkout(tmp_path / name) for name in ("a", "b")]
    yield checkouts
    for checkout in checkouts:
        checkout.run_lab("down", "--force")


@pytest.fixture
def start_lab() -> Iterator[Callable[[str], lab.Lab]]:
    yield lambda name: lab.create_lab(name, releases=["debian-12"])
    for name in (FIRST, TWO):
        lab.remove_lab(name, graceful=False)


def is_answering(running_lab: lab.Lab) -> bool:
    return running_lab.exec("host1", ["true"], limit=30).returncode == 0


@pytest.mark.slow
def test_two_checkouts_come_up_at_once_and_one_goes_down_alone(checkouts: list[Checkout]) -> None:
    before = list_footprint()
    a, b = checkouts
    assert a.name != b.name
    for process in [checkout.begin("up", "--hosts", "1", "--os", "debian-12") for checkout in checkouts]:
        wait_for_end(process)
    assert a.name in a.run_lab("status")
    down_run, up_run = a.begin("down"), b.begin("up", "--hosts", "1", "--os", "debian-12")
    assert wait_for_end(down_run).endswith("the lab is down\n")
    wait_for_end(up_run)
    assert find_leftovers(a.name, before) == set()
    b.run_lab("exec", "host1", "--", "sudo", "apt-get", "-qq", "update")
    assert a.run_lab("down").endswith("there was no lab\n")
    b.run_lab("exec", "host1", "--", "true")
    b.run_lab("down")
    assert find_leftovers(b.name, before) == set()


def test_a_living_lab_with_a_broken_record_is_left_alone_and_can_be_taken_down(
    start_lab: Callable[[str], lab.Lab],
) -> None:
    before = list_footprint()
    first_lab = start_lab(FIRST)
    (locks.MACHINE / f"{FIRST}.json").write_text("{")
    two = start_lab(TWO)
    assert two.record.net != first_lab.record.net
    assert is_answering(first_lab)
    with pytest.raises(LabError) as excinfo:
        start_lab(FIRST)
    assert excinfo.value.reference == "lab-record-broken"
    assert lab.remove_lab(FIRST) is True
    assert find_leftovers(FIRST, before) == set()
    assert is_answering(two)
    assert is_answering(start_lab(FIRST))


@pytest.mark.slow
@pytest.mark.parametrize("record", ["broken", "missing"])
def test_a_dead_lab_with_a_broken_record_or_none_is_swept(record: str, start_lab: Callable[[str], lab.Lab]) -> None:
    before = list_footprint()
    first_lab = start_lab(FIRST)
    cgroups.kill(first_lab.record.format_group_name("host1"))
    if record == "broken":
        (locks.MACHINE / f"{FIRST}.json").write_text('{"name": 3}')
    else:
        state.forget(FIRST)
    two = start_lab(TWO)
    assert find_leftovers(FIRST, before) == set()
    two.remove()
    assert find_leftovers(TWO, before) == set()


@pytest.mark.slow
def test_settings_of_the_machine_that_a_host_changes_are_put_back_by_the_last_lab(
    start_lab: Callable[[str], lab.Lab],
) -> None:
    if state.list_records():
        pytest.skip("another lab is up on this machine, and the last one puts them back")
    before = {name: (sysctls.PROC / name).read_text() for name in NAMES}
    first_lab, two = start_lab(FIRST), start_lab(TWO)
    for name, value in WRITES.items():
        assert first_lab.exec("host1", ["sudo", "sh", "-c", f"echo {value} >/proc/sys/{name}"]).returncode == 0
        assert (sysctls.PROC / name).read_text().strip() == str(value)
    first_lab.remove()
    assert (sysctls.PROC / "kernel/panic").read_text().strip() == "11"
    two.remove()
    assert {name: (sysctls.PROC / name).read_text() for name in before} == before
