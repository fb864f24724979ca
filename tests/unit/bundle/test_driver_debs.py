"""The simulated driver and the toolkit at NVIDIA's places, as apt on a host reads them."""

import subprocess
from pathlib import Path

import pytest

from tests.unit.bundle.apt_host import Host

CUDA = "files/developer.download.nvidia.com/compute/cuda/repos"
TOOLKIT = "files/nvidia.github.io/libnvidia-container"
VERSION = "595.91.07-1"


@pytest.mark.parametrize("release", ["debian12", "debian13"])
@pytest.mark.parametrize("packages", [("nvidia-open",), ("nvidia-driver-cuda", "nvidia-kernel-open-dkms")])
def test_the_driver_installs_as_from_the_official_place(
    shared_bundle: Path, tmp_path: Path, release: str, packages: tuple[str, ...]
) -> None:
    place = f"{CUDA}/{release}/x86_64"
    key = {"debian12": "3bf863cc.pub", "debian13": "8793F200.pub"}[release]
    host = Host(tmp_path, shared_bundle / place / key, f"file:{shared_bundle}/{place}/ /")
    process = host.run("apt-get", "update")
    assert (process.returncode, "W:" in process.stderr) == (0, False), process.stderr
    needs = host.run("apt-cache", "depends", "--recurse", "--no-suggests", *packages).stdout
    for package in (
        "libnvidia-ml1",
        "libcuda1",
        "nvidia-persistenced",
        "nvidia-driver-cuda",
        "nvidia-kernel-open-dkms",
    ):
        assert f"Candidate: {VERSION}\n" in host.run("apt-cache", "policy", package).stdout
        assert f"\n{package}\n" in f"\n{needs}\n"
    assert "Candidate: 1:4.6.0-1\n" in host.run("apt-cache", "policy", "datacenter-gpu-manager-4-core").stdout
    assert "Candidate: 4.8.3-1\n" in host.run("apt-cache", "policy", "datacenter-gpu-manager-exporter").stdout
    assert "Candidate: 595-1\n" in host.run("apt-cache", "policy", "nvidia-driver-pinning-595").stdout


def test_the_toolkit_installs_as_from_the_official_place(shared_bundle: Path, tmp_path: Path) -> None:
    place = f"{TOOLKIT}/stable/deb/amd64"
    host = Host(tmp_path, shared_bundle / TOOLKIT / "gpgkey", f"file:{shared_bundle}/{place}/ /")
    process = host.run("apt-get", "update")
    assert (process.returncode, "W:" in process.stderr) == (0, False), process.stderr
    for package in ("nvidia-container-toolkit", "nvidia-container-toolkit-base"):
        assert "Candidate: 1.20.1-1\n" in host.run("apt-cache", "policy", package).stdout


@pytest.mark.parametrize(
    ("package", "files"),
    [
        (
            "libnvidia-ml1",
            {"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.595.91.07", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"},
        ),
        ("libcuda1", {"/usr/lib/x86_64-linux-gnu/libcuda.so.595.91.07", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"}),
        ("nvidia-driver-cuda", {"/usr/bin/nvidia-smi"}),
        (
            "nvidia-kernel-open-dkms",
            {
                "/usr/lib/nvidia/simulated/module", "/usr/lib/nvidia/simulated/nvidia.ko",
                "/usr/lib/modprobe.d/nvidia.conf", "/usr/lib/systemd/system/simulated-nvidia-driver.service",
            },
        ),
        ("nvidia-open", set()),
        (
            "datacenter-gpu-manager-4-core",
            {"/usr/bin/nv-hostengine", "/usr/bin/dcgmi", "/usr/lib/systemd/system/nvidia-dcgm.service"},
        ),
        ("datacenter-gpu-manager-4-proprietary", set()),
        (
            "datacenter-gpu-manager-exporter",
            {
                "/usr/bin/dcgm-exporter", "/etc/dcgm-exporter/default-counters.csv",
                "/usr/lib/systemd/system/nvidia-dcgm-exporter.service",
            },
        ),
    ],
)  # fmt: skip
def test_every_package_of_the_driver_says_that_it_is_simulated(
    shared_bundle: Path, package: str, files: set[str]
) -> None:
    for release in ("debian12", "debian13"):
        (deb,) = (shared_bundle / CUDA / release).rglob(f"{package}_*.deb")
        lines = run_dpkg("--contents", deb).splitlines()
        assert {line.split()[5].removeprefix(".") for line in lines if not line.startswith("d")} == files
        assert all(" root/root " in line for line in lines)
        description = run_dpkg("--field", deb, "Description")
        assert description.startswith("SIMULATED ")
        assert "nothing of NVIDIA's" in description


def test_the_toolkit_is_not_called_simulated(shared_bundle: Path) -> None:
    for deb in (shared_bundle / TOOLKIT).rglob("*.deb"):
        assert "SIMULATED" not in run_dpkg("--field", deb, "Description")


def test_programs_may_be_run(shared_bundle: Path) -> None:
    (deb,) = (shared_bundle / CUDA / "debian12").rglob("nvidia-kernel-open-dkms_*.deb")
    (module,) = [line for line in run_dpkg("--contents", deb).splitlines() if line.endswith("/simulated/module")]
    assert module.startswith("-rwxr-xr-x")


def run_dpkg(*words: str | Path) -> str:
    return subprocess.run(["dpkg-deb", *words], capture_output=True, text=True, timeout=30, check=True).stdout
