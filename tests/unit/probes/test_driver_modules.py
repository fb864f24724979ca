"""The script that finds which modules of the kernel hold the driver, with lines of a host with a display.

The use counts are those of lsmod in Bumblebee-Project/Bumblebee#1075, in the columns of /proc/modules.
"""

import subprocess
from pathlib import Path

import pytest

from gpustack.ask.probe import Answer
from gpustack.ask.script import format_command
from gpustack.probes.gpu.driver_modules import DRIVER_MODULES, DriverModule

MODULES = """\
nvidia_drm 53248 2 - Live 0xffffffffc0a00000 (POE)
nvidia_modeset 1228800 3 nvidia_drm, Live 0xffffffffc0b00000 (POE)
nvidia 34136064 83 nvidia_modeset, Live 0xffffffffc0c00000 (POE)
drm_kms_helper 225280 2 nvidia_drm,i915, Live 0xffffffffc0d00000
drm 565248 17 drm_kms_helper,nvidia_drm,i915, Live 0xffffffffc0e00000
"""


def run_script(path: Path) -> subprocess.CompletedProcess[str]:
    script = format_command(DRIVER_MODULES).replace("/proc/modules", str(path))
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, timeout=60)


def test_the_modules_that_use_the_driver_are_found_through_each_other(tmp_path: Path) -> None:
    path = tmp_path / "modules"
    path.write_text(MODULES)
    process = run_script(path)
    assert "0xffffffffc0" not in process.stdout
    modules = DRIVER_MODULES.extract_fact(Answer(DRIVER_MODULES.id, "h1", 0, process.stdout))
    assert modules == (
        DriverModule("nvidia", 83, ("nvidia_modeset",)),
        DriverModule("nvidia_drm", 2, ()),
        DriverModule("nvidia_modeset", 3, ("nvidia_drm",)),
    )
    assert [module.unnamed_uses for module in modules] == [82, 2, 2]


@pytest.mark.parametrize("text", ["", "drm 565248 17 i915, Live 0xffffffffc0e00000\n"])
def test_a_host_without_the_driver_has_no_modules_of_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "modules"
    path.write_text(text)
    process = run_script(path)
    assert (process.returncode, process.stdout) == (0, "")


def test_a_kernel_that_shows_no_modules_is_unknown(tmp_path: Path) -> None:
    process = run_script(tmp_path / "absent")
    assert (process.returncode, process.stdout) == (1, "")
    assert "/absent" in process.stderr
