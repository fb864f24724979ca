"""A stopped lab keeps its disks. `lab start` boots it, and one that lost power, without an option of its creation."""

import os
import urllib.request
from pathlib import Path

import pytest

from gpustack_lab import lab
from gpustack_lab.lab import leftovers, locks
from tests.lab.conftest import PORT, Run

pytestmark = pytest.mark.lab

NAME = f"t{os.getpid()}-stopped"
NAME_OPTIONS = ("--name", NAME)


def read_boot() -> str:
    """Return the id of the host's boot. What `lab up` was asked for is there: the disk, the GPU, the mirror."""
    started_lab = lab.find_lab(NAME)
    process = started_lab.exec("host1", ["cat", "/kept", "/proc/sys/kernel/random/boot_id"])
    assert process.returncode == 0, process.stderr
    kept_text, boot = process.stdout.split()
    assert kept_text == "disk"
    assert [gpu.name for gpu in started_lab.read_gpus("host1")] == ["NVIDIA L4"]
    with urllib.request.urlopen(f"http://{started_lab.record.gateway}:{PORT}/mirror-key.asc", timeout=10) as answer:
        assert answer.status == 200
    return boot


def cut_power() -> None:
    """End all of the lab at once, and lose the machine's own directory of records, as by a boot of the machine."""
    leftovers.end_processes(lab.find_lab(NAME).record)
    (locks.MACHINE / f"{NAME}.json").unlink()


def test_a_lab_starts_from_its_record_after_a_stop_and_after_a_loss_of_power(gpustack: Run, bundle: Path) -> None:
    try:
        for mirror in ((), ("--mirror", bundle)):  # hosts first and their mirror later, as `make demo`
            gpustack("lab", "up", *NAME_OPTIONS, "--hosts", "1", "--gpus", "1", "--model", "L4", *mirror)
        made_lab = lab.find_lab(NAME)
        made_lab.exec("host1", ["sudo", "sh", "-c", "echo disk >/kept"])
        boots = {read_boot()}

        gpustack("lab", "stop", *NAME_OPTIONS)
        gpustack("lab", "stop", *NAME_OPTIONS)
        leftovers.remove_dead_labs(lambda event: pytest.fail(event.message))
        (line,) = [line for line in gpustack("lab", "status").stdout.splitlines() if line.startswith(NAME)]
        assert line.endswith("  stopped")
        assert "gpustack lab start" in gpustack("lab", "exec", *NAME_OPTIONS, "host1", "true", code=9).stderr

        gpustack("lab", "start", *NAME_OPTIONS)
        boots.add(read_boot())
        cut_power()
        gpustack("lab", "start", *NAME_OPTIONS)
        boots.add(read_boot())
        assert len(boots) == 3
        assert lab.find_lab(NAME).record == made_lab.record
    finally:
        gpustack("lab", "down", "--force", *NAME_OPTIONS, code=None)
    assert not made_lab.record.state.exists()
