"""Invented PCI functions: /sys/bus/pci/devices of a GPU, as far as lspci, NFD and GFD read it.

They are plain files, while in a real sysfs each function is a link to its place on the bus.
"""

import struct
from pathlib import Path

from gpustack_lab.simulated.models import Model

VENDOR = 0x10DE
CLASS = 0x0302_00  # 3D controller
RESOURCES = 13  # lines of start, end, flags; GFD refuses fewer
FIRST_BUS, BUS_STEP = 0x17, 0x08


def format_bus(index: int) -> str:
    """Format the bus address of the GPU with this index, like 0000:17:00.0."""
    return f"0000:{FIRST_BUS + BUS_STEP * index:02x}:00.0"


def write(directory: Path, index: int, model: Model) -> None:
    """Write the function of one GPU below `directory`."""
    function = directory / format_bus(index)
    function.mkdir(parents=True, exist_ok=True)
    ids = {"vendor": VENDOR, "device": model.device, "subsystem_vendor": VENDOR, "subsystem_device": model.device}
    for name, value in ids.items():
        (function / name).write_text(f"{value:#06x}\n")
    (function / "class").write_text(f"{CLASS:#08x}\n")
    (function / "revision").write_text("0xa1\n")
    for name, text in {"irq": "0", "numa_node": "0", "enable": "1", "local_cpulist": "0"}.items():
        (function / name).write_text(f"{text}\n")
    (function / "resource").write_text(f"{0:#018x} {0:#018x} {0:#018x}\n" * RESOURCES)
    (function / "config").write_bytes(build_configuration(model))
    (function / "uevent").write_text(render_uevent(index, model))
    (function / "modalias").write_text(format_modalias(model) + "\n")


def build_configuration(model: Model) -> bytes:
    """Build the 256 bytes of configuration space, whose header has names and classes, and no addresses."""
    space = bytearray(256)
    struct.pack_into("<HHHHBBBB", space, 0, VENDOR, model.device, 0x0406, 0x0010, 0xA1, 0, 2, 3)
    struct.pack_into("<HH", space, 0x2C, VENDOR, model.device)
    return bytes(space)


def render_uevent(index: int, model: Model) -> str:
    ids = f"{VENDOR:04X}:{model.device:04X}"
    return (
        f"PCI_CLASS={CLASS:X}\nPCI_ID={ids}\nPCI_SUBSYS_ID={ids}\nPCI_SLOT_NAME={format_bus(index)}\n"
        f"MODALIAS={format_modalias(model)}\n"
    )


def format_modalias(model: Model) -> str:
    return f"pci:v{VENDOR:08X}d{model.device:08X}sv{VENDOR:08X}sd{model.device:08X}bc03sc02i00"
