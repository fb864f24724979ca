"""A vGPU is known by its PCI configuration: the real script on a bus of a test.

The bytes that matter are those of NVIDIA/k8s-device-plugin internal/vgpu/pciutil.go at 062f0903, NewMockNvidiaPCI: of a
vGPU guest, and of a GPU that is passed through.
"""

import subprocess
from pathlib import Path

import pytest

from gpustack.probes.gpu.devices import SCRIPT

# Offset of the first capability, and the capabilities: id, next, length and the beginning.
VGPU = {0x00: "de10b81e0205ff06", 0x34: "d0", 0xD0: "09681b56460016"}
CHAIN = {0x00: "de10b81e0205ff06", 0x34: "68", 0x68: "0500", 0x69: "d0", 0xD0: "09001b56460016"}
PASSED_THROUGH = {0x00: "de108a1107041000", 0x34: "60", 0x60: "0168", 0x68: "0578", 0x78: "10b4", 0xB4: "09001401"}
WITHOUT_LIST = {**VGPU, 0x00: "de10b81e0205ef06"}
LOOP = {0x00: "de10b81e0205ff06", 0x34: "60", 0x60: "0560"}


def write_config(parts: dict[int, str]) -> bytes:
    config = bytearray(256)
    for place, text in parts.items():
        data = bytes.fromhex(text)
        config[place : place + len(data)] = data
    return bytes(config)


def list_devices(root: Path, config: bytes) -> str:
    device = root / "0000:00:05.0"
    device.mkdir()
    for name, text in (("vendor", "0x10de"), ("class", "0x030200"), ("device", "0x1eb8")):
        (device / name).write_text(f"{text}\n")
    (device / "config").write_bytes(config)
    script = SCRIPT.replace("/sys/bus/pci/devices", str(root))
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=20, check=True).stdout


@pytest.mark.parametrize(
    ("config", "is_vgpu"),
    [
        (write_config(VGPU), True),
        (write_config(CHAIN), True),
        (write_config(PASSED_THROUGH), False),
        (write_config(WITHOUT_LIST), False),
        (write_config(LOOP), False),
        (write_config(VGPU)[:64], False),
    ],
)
def test_a_vgpu_has_its_mark(tmp_path: Path, config: bytes, *, is_vgpu: bool) -> None:
    assert list_devices(tmp_path, config) == f"0000:00:05.0 0x1eb8 0x030200 -{' vgpu' if is_vgpu else ''}\n"
