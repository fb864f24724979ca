"""gpustack as others install it: the wheel and all that it needs, for a Python version, on a lab host."""

import subprocess
import sys
from pathlib import Path

from packaging.requirements import Requirement

from gpustack_lab import lab
from tests.lab import witness

ROOT = Path(__file__).parents[2]
VENV = "/opt/gpustack"


def install(running_lab: lab.Lab, name: str, python: str, wheel: Path, folder: Path) -> None:
    """Install into VENV of a host whose own Python is `python`."""
    host = witness.connect_host(running_lab, name)
    copy_folder(running_lab, name, collect_wheels(python, wheel, folder), "/tmp/wheels")
    host.check_output("apt-get update -q && apt-get install -qy --no-install-recommends python3-venv")
    host.check_output(
        f"python3 -m venv {VENV} && {VENV}/bin/pip install -q --no-index --find-links /tmp/wheels gpustack-cluster"
    )


def collect_wheels(python: str, wheel: Path, folder: Path) -> Path:
    packages_folder = folder / python
    levels = ("manylinux_2_17", "manylinux_2_28", "manylinux2014")
    platforms = [word for level in levels for word in ("--platform", f"{level}_x86_64")]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
    command += ["--python-version", python, *platforms, *read_lock(python), "-d", str(packages_folder)]
    subprocess.run(command, check=True, timeout=600)
    (packages_folder / wheel.name).write_bytes(wheel.read_bytes())
    return packages_folder


def read_lock(python: str) -> list[str]:
    """Read what the lock means for a Python version: pip judges markers by the Python that it runs on."""
    text = (ROOT / "requirements" / "runtime.txt").read_text().replace("\\\n", " ")
    lines = [line.split("--hash")[0].strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    requirements = [Requirement(line) for line in lines if not line.startswith("#")]
    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    return [
        f"{requirement.name}{requirement.specifier}"
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate(environment)
    ]


def copy_folder(running_lab: lab.Lab, name: str, source: Path, target: str) -> None:
    command = ["scp", "-q", "-F", str(running_lab.ssh_config), "-r", str(source), f"{name}:{target}"]
    subprocess.run(command, check=True, timeout=120)
