"""Lab hosts with simulated GPUs: hardware before a driver, the driver from its packages, what fails, what stays."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack.errors import LabError
from gpustack_lab import lab
from gpustack_lab.simulated import hardware, pci

pytestmark = pytest.mark.lab

NAME = f"t{os.getpid()}-gpus"
BOTH_HOSTS = ("host1", "host2")
RELEASES = ("debian-12", "debian-13")
FLEET = "2,host2:4xL4"
CUDA = "developer.download.nvidia.com/compute/cuda/repos"
KEYS = {"debian12": "3bf863cc.pub", "debian13": "8793F200.pub"}
DRIVER = "nvidia-driver-cuda nvidia-kernel-open-dkms"
VERSION = hardware.DRIVER


@pytest.fixture(scope="module")
def two(mirror: lab.Mirror) -> Iterator[lab.Lab]:
    lab.remove_lab(NAME)
    yield lab.create_lab(NAME, releases=RELEASES, mirror=mirror, gpus=FLEET)
    lab.remove_lab(NAME, graceful=False)


def run_script(on: lab.Lab, host: str, script: str) -> tuple[int, str]:
    process = on.exec(host, ["sh", "-c", script], limit=300)
    return process.returncode, (process.stdout + process.stderr).strip()


def read_output(on: lab.Lab, host: str, script: str) -> str:
    code, stdout = run_script(on, host, script)
    assert code == 0, stdout
    return stdout


@pytest.fixture(scope="module")
def driver_hosts(two: lab.Lab, bundle: Path) -> lab.Lab:
    """Both hosts with the driver, installed by apt from the mirror as from NVIDIA's place."""
    source = two.record.source
    assert source
    for host, release in zip(BOTH_HOSTS, ("debian12", "debian13"), strict=True):
        repository = f"{source.url}/{CUDA}/{release}/x86_64"
        key = "/etc/apt/keyrings/nvidia.asc"
        read_output(two, host, f"sudo curl -fsS --create-dirs -o {key} {repository}/{KEYS[release]}")
        line = f"deb [signed-by={key}] {repository}/ /"
        read_output(two, host, f"echo '{line}' | sudo tee /etc/apt/sources.list.d/cuda.list && sudo apt-get -qq update")
        read_output(two, host, f"sudo DEBIAN_FRONTEND=noninteractive apt-get -qq install -y {DRIVER}")
    return two


def test_hardware_is_there_before_any_driver(two: lab.Lab) -> None:
    for host, count in zip(BOTH_HOSTS, (2, 4), strict=True):
        text = read_output(two, host, "cd /sys/bus/pci/devices; for d in *; do echo $d $(cat $d/vendor $d/class); done")
        assert text.splitlines() == [f"{pci.format_bus(index)} 0x10de 0x030200" for index in range(count)]
        assert run_script(two, host, "ls /dev/nvidia* /proc/driver/nvidia /usr/bin/nvidia-smi")[0] != 0


def test_hosts_and_labs_do_not_share_a_uuid(two: lab.Lab) -> None:
    uuids = [gpu.uuid for host in BOTH_HOSTS for gpu in two.read_gpus(host)]
    assert len(set(uuids)) == 6


def test_the_driver_shows_what_the_hardware_is(driver_hosts: lab.Lab) -> None:
    for host, model in zip(BOTH_HOSTS, ("NVIDIA H100 80GB HBM3", "NVIDIA L4"), strict=True):
        gpus = driver_hosts.read_gpus(host)
        expected_lines = [f"{gpu.uuid}, {model}, {VERSION}" for gpu in gpus]
        query = "nvidia-smi --query-gpu=uuid,name,driver_version --format=csv,noheader"
        assert read_output(driver_hosts, host, query).splitlines() == expected_lines
        assert f"  {VERSION}  " in read_output(driver_hosts, host, "cat /proc/driver/nvidia/version")
        assert read_output(
            driver_hosts, host, "cat /sys/module/nvidia/version; /sbin/modinfo -F version nvidia"
        ).split() == [
            VERSION,
            VERSION,
        ]
        assert read_output(driver_hosts, host, "ls /sys/module/overlay") != ""  # what the machine has is still there
        assert read_output(driver_hosts, host, "ls /dev/nvidia[0-9]* | wc -l") == str(len(gpus))


def test_a_change_is_found_at_once(driver_hosts: lab.Lab) -> None:
    driver_hosts.set_gpu("host1:1", "load=training", "temp=92")
    query = "nvidia-smi --query-gpu=temperature.gpu,utilization.gpu --format=csv,noheader,nounits"
    assert read_output(driver_hosts, "host1", query).splitlines() == ["34, 0", "92, 98"]
    driver_hosts.set_gpu("host1", "recover")
    assert read_output(driver_hosts, "host1", query).splitlines() == ["34, 0", "34, 0"]


def test_a_lost_gpu_is_an_error_of_nvidia_smi(driver_hosts: lab.Lab) -> None:
    driver_hosts.set_gpu("host1:1", "lost")
    code, stdout = run_script(driver_hosts, "host1", "nvidia-smi")
    assert (code, "GPU is lost" in stdout) == (15, True)
    assert read_output(driver_hosts, "host1", f"tail -n 1 /lib/firmware/nvidia/{VERSION}/gsp_events.bin").startswith(
        "xid 1 79 "
    )
    driver_hosts.set_gpu("host1:1", "recover")
    assert read_output(driver_hosts, "host1", "nvidia-smi -L | wc -l") == "2"


def test_a_module_of_another_version_fails_nvidia_smi(driver_hosts: lab.Lab) -> None:
    version = "/proc/driver/nvidia/version"
    read_output(driver_hosts, "host1", f"sudo sed -i s/{VERSION}/580.1.2/ {version}")
    code, stdout = run_script(driver_hosts, "host1", "nvidia-smi")
    assert (code, stdout.splitlines()[0]) == (18, "Failed to initialize NVML: Driver/library version mismatch")
    read_output(driver_hosts, "host1", f"sudo sed -i s/580.1.2/{VERSION}/ {version}")
    assert run_script(driver_hosts, "host1", "nvidia-smi")[0] == 0


def test_an_unloaded_module_fails_nvidia_smi(driver_hosts: lab.Lab) -> None:
    read_output(driver_hosts, "host2", "sudo modprobe -r nvidia")
    assert run_script(driver_hosts, "host2", "nvidia-smi")[0] == 9
    assert run_script(driver_hosts, "host2", "ls /proc/driver/nvidia /sys/module/nvidia /dev/nvidiactl")[0] != 0
    read_output(driver_hosts, "host2", "sudo modprobe nvidia && sudo modprobe nvidia_uvm")
    assert read_output(driver_hosts, "host2", "nvidia-smi -L | wc -l") == "4"


def test_all_of_it_survives_a_reboot_and_a_restore(driver_hosts: lab.Lab) -> None:
    driver_hosts.set_gpu("host2:3", "ecc-dbe=7")
    driver_hosts.save("driven")
    driver_hosts.set_gpu("host2:3", "recover")
    boot = "cat /proc/sys/kernel/random/boot_id; stat -c %Y /proc/1"
    before = read_output(driver_hosts, "host1", boot)
    driver_hosts.exec("host1", ["sudo", "systemctl", "reboot"])
    deadline = time.monotonic() + 60
    while (answer := run_script(driver_hosts, "host1", boot))[0] != 0 or answer[1] == before:
        assert time.monotonic() < deadline, answer
        time.sleep(0.2)
    assert read_output(driver_hosts, "host1", "systemctl is-system-running --wait; nvidia-smi -L | wc -l").split() == [
        "running",
        "2",
    ]
    driver_hosts.restore("driven")
    assert driver_hosts.read_gpus("host2")[3].live == {"ecc_dbe": "7"}
    query = "nvidia-smi --query-gpu=ecc.errors.uncorrected.volatile.total --format=csv,noheader"
    assert read_output(driver_hosts, "host2", f"systemctl is-system-running --wait; {query}").split() == [
        "running",
        *"0007",
    ]
    lab.find_lab(NAME).set_gpu("host2:3", "recover")  # by another process
    assert read_output(driver_hosts, "host2", query).split() == [*"0000"]


def test_an_equal_lab_is_the_same_and_another_is_refused(driver_hosts: lab.Lab) -> None:
    driver_hosts.set_gpu("host1:0", "temp=60")
    made_lab = lab.create_lab(NAME, releases=RELEASES, gpus=FLEET)
    assert made_lab.read_gpus("host1")[0].live == {"temp": "60"}
    with pytest.raises(LabError, match="up with other hosts"):
        lab.create_lab(NAME, releases=RELEASES, gpus="2")


def test_removed_packages_leave_the_hardware(driver_hosts: lab.Lab) -> None:
    for host in BOTH_HOSTS:
        removed_packages = "nvidia-driver-cuda nvidia-kernel-open-dkms libnvidia-ml1 libcuda1 nvidia-persistenced"
        read_output(driver_hosts, host, f"sudo DEBIAN_FRONTEND=noninteractive apt-get -qq purge -y {removed_packages}")
        leftover_paths = "/dev/nvidia* /proc/driver/nvidia /sys/module/nvidia /lib/firmware/nvidia"
        leftover_paths += " /usr/lib/*/libnvidia* /usr/lib/nvidia /lib/modules/*/updates/dkms/nvidia.ko"
        assert read_output(driver_hosts, host, f"ls -d {leftover_paths} 2>/dev/null || :") == ""
        assert read_output(driver_hosts, host, "ls /sys/bus/pci/devices /var/lib/simulated-gpus/state") != ""
        assert read_output(driver_hosts, host, "systemctl is-system-running --wait") == "running"
