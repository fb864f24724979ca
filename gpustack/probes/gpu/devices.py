"""NVIDIA's display controllers of a host, as the PCI bus shows them: without a driver and without a program of
NVIDIA's."""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe

# 10de is NVIDIA; display controllers are 0300 (VGA) and 0302 (3D), as for NFD's label pci-10de.present. What a function
# is bound to is missing in recordings of before.
LINE = re.compile(
    r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) 0x([0-9a-f]{4})(?: 0x(0300|0302)[0-9a-f]{2} ([\w.-]{1,60}))?"
)


@dataclass(frozen=True)
class Device:
    """Describe a display controller.

    `bus` is like `0000:65:00.0`; `device` is the PCI device id in hex, 2330 for an H100 SXM. `kind` is the PCI class,
    0300 for one that can drive a screen at boot, 0302 for one that only computes; `driver` is the one that the function
    is bound to, empty for none.
    """

    bus: str
    device: str
    kind: str = ""
    driver: str = ""

    @property
    def number(self) -> int:
        """The device id as a number, for comparison: newer generations have higher ones."""
        return int(self.device, 16)


def parse_devices(answer: Answer) -> tuple[Device, ...]:
    """Parse the display controllers. Raise ValueError where a line describes none."""
    devices = []
    for line in answer.stdout.splitlines():
        match = LINE.fullmatch(line)
        if not match:
            raise ValueError(line)
        driver = match[4] or "-"
        devices.append(Device(match[1], match[2], match[3] or "", "" if driver == "-" else driver))
    return tuple(sorted(devices, key=lambda device: device.bus))


# Whose each is, is decided in gpustack/steps/gpu/count.py.
SCRIPT = """cd /sys/bus/pci/devices 2>/dev/null || exit 0
for device in *; do
  read -r vendor 2>/dev/null <"$device/vendor" || continue
  [ "$vendor" = 0x10de ] || continue
  read -r class <"$device/class" || continue
  case $class in 0x0300* | 0x0302*) ;; *) continue ;; esac
  read -r id <"$device/device" || continue
  driver=-
  [ ! -e "$device/driver" ] || driver=$(readlink -f "$device/driver")
  echo "$device $id $class ${driver##*/}"
done
exit 0
"""

GPU_DEVICES = Probe("gpu.devices", Lines(SCRIPT), parse_devices, manual_command="lspci -nnk -d 10de:")
