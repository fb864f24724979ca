"""The real script of gpu.devices on a bus as /sys/bus/pci/devices shows it."""

import subprocess
from pathlib import Path

import pytest

from gpustack.ask.probe import Answer
from gpustack.ask.script import command
from gpustack.probes.gpu import GPU_DEVICES

BUS = "/sys/bus/pci/devices"
H100, A100, GT710 = "0x2330", "0x20b2", "0x128b"


def function(bus: Path, at: str, klass: str, device: str, driver: str = "", vendor: str = "0x10de") -> None:
    folder = bus / at
    folder.mkdir(parents=True)
    for name, text in {"vendor": vendor, "class": klass, "device": device}.items():
        (folder / name).write_text(f"{text}\n")
    if driver:
        (bus.parent / "drivers" / driver).mkdir(parents=True, exist_ok=True)
        (folder / "driver").symlink_to(f"../../drivers/{driver}")


def asked(bus: Path) -> list[str]:
    script = command(GPU_DEVICES)
    assert BUS in script
    run = ["sh", "-c", script.replace(BUS, str(bus))]
    done = subprocess.run(run, capture_output=True, text=True, check=True, timeout=60)
    return [f"{one.bus} {one.device}" for one in GPU_DEVICES.fact(Answer(GPU_DEVICES.id, "h1", 0, done.stdout))]


@pytest.mark.parametrize("driver", ["vfio-pci", "pci-stub"])
def test_what_a_virtual_machine_has_is_no_gpu_of_the_host(tmp_path: Path, driver: str) -> None:
    """As on a host of KubeVirt or Proxmox: two of four passed on, with the sound function of one."""
    bus = tmp_path / "devices"
    function(bus, "0000:17:00.0", "0x030200", H100, "nvidia")
    function(bus, "0000:1f:00.0", "0x030200", H100)
    function(bus, "0000:41:00.0", "0x030200", A100, driver)
    function(bus, "0000:a1:00.0", "0x030000", GT710, driver)
    function(bus, "0000:a1:00.1", "0x040300", "0x0e0f", driver)
    assert asked(bus) == ["0000:17:00.0 2330", "0000:1f:00.0 2330"]


def test_a_host_whose_gpus_are_all_passed_on_has_none(tmp_path: Path) -> None:
    bus = tmp_path / "devices"
    function(bus, "0000:41:00.0", "0x030200", A100, "vfio-pci")
    assert asked(bus) == []


def test_switches_sound_and_cards_of_others_are_no_gpus(tmp_path: Path) -> None:
    bus = tmp_path / "devices"
    function(bus, "0000:05:00.0", "0x068000", "0x22a3", "nvidia-nvswitch")
    function(bus, "0000:17:00.0", "0x030200", H100, "nouveau")
    function(bus, "0000:17:00.1", "0x040300", "0x0e0f", "snd_hda_intel")
    function(bus, "0000:03:00.0", "0x030000", "0x2000", "ast", vendor="0x1a03")
    assert asked(bus) == ["0000:17:00.0 2330"]
