"""NVIDIA's display controllers of a host, as the PCI bus shows them: without a driver and without a program of
NVIDIA's."""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe

# 10de is NVIDIA; display controllers are 0300 (VGA) and 0302 (3D), as for NFD's label pci-10de.present. What a function
# is bound to is missing in recordings of before.
LINE = re.compile(
    r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) 0x([0-9a-f]{4})"
    r"(?: 0x(0300|0302)[0-9a-f]{2} ([\w.-]{1,60})( vgpu)?)?"
)


@dataclass(frozen=True)
class Device:
    """Describe a display controller.

    `bus` is like `0000:65:00.0`; `device` is the PCI device id in hex, 2330 for an H100 SXM. `kind` is the PCI class,
    0300 for one that can drive a screen at boot, 0302 for one that only computes; `driver` is the one that the function
    is bound to, empty for none. `vgpu`: it is a part of a GPU that a hypervisor gave to this virtual machine.
    """

    bus: str
    device: str
    kind: str = ""
    driver: str = ""
    vgpu: bool = False

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
        devices.append(Device(match[1], match[2], match[3] or "", "" if driver == "-" else driver, bool(match[5])))
    return tuple(sorted(devices, key=lambda device: device.bus))


# Whose each is, is decided in gpustack/steps/gpu/count.py. A vGPU has the letters VF in its first vendor-specific
# capability (NVIDIA/k8s-device-plugin, internal/vgpu); root alone reads beyond the first 64 bytes.
SCRIPT = """cd /sys/bus/pci/devices 2>/dev/null || exit 0
is_vgpu() {
  od -An -v -tu1 -w1 -N256 "$1" 2>/dev/null | awk '
    { byte[NR - 1] = $1 }
    END {
      if (NR < 256 || int(byte[6] / 16) % 2 == 0) exit 1
      place = byte[52]
      for (steps = 0; steps < 48 && place != 0 && place < 252 && byte[place] != 255; steps++) {
        if (byte[place] == 9) exit !(byte[place + 3] == 86 && byte[place + 4] == 70)
        place = byte[place + 1]
      }
      exit 1
    }'
}
for device in *; do
  read -r vendor 2>/dev/null <"$device/vendor" || continue
  [ "$vendor" = 0x10de ] || continue
  read -r class <"$device/class" || continue
  case $class in 0x0300* | 0x0302*) ;; *) continue ;; esac
  read -r id <"$device/device" || continue
  driver=-
  [ ! -e "$device/driver" ] || driver=$(readlink -f "$device/driver")
  vgpu=
  ! is_vgpu "$device/config" || vgpu=' vgpu'
  echo "$device $id $class ${driver##*/}$vgpu"
done
exit 0
"""

GPU_DEVICES = Probe("gpu.devices", Lines(SCRIPT), parse_devices, manual_command="lspci -nnk -d 10de:")
