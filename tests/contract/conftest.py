"""Fixtures that several contract tests share."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gpustack_lab.simulated import hardware
from tests.contract.promtool import find_program
from tests.worlds.life import blocks

DRIVER = Path(__file__).parents[2] / "lab" / "gpustack_lab" / "simulated" / "driver"


@pytest.fixture(scope="session")
def driver_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Libraries and nvidia-smi of the simulated driver."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc on this machine")
    folder = tmp_path_factory.mktemp("driver")
    build = ["sh", str(DRIVER / "build.sh"), str(folder), hardware.DRIVER]
    process = subprocess.run(build, capture_output=True, text=True, timeout=100, check=False)
    assert (process.returncode, process.stderr) == (0, "")
    for name in ("libnvidia-ml", "libcuda"):
        (folder / f"{name}.so.1").symlink_to(f"{name}.so")
    return folder


@pytest.fixture(scope="session")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that writes blocks of a Prometheus."""
    find_program("prometheus")
    if not blocks.find_go():
        pytest.skip("no Go: make go")
    try:
        return blocks.build(tmp_path_factory.mktemp("writer"))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"the modules of Prometheus are not to be had: {error.stderr[-300:]}")
