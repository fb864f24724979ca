"""The number of GPUs of a host that are for Kubernetes: the one count that every check, proof and report uses.

Some NVIDIA display controllers on the bus do not count. One that is bound to a passthrough driver belongs to a virtual
machine. An old card for the console, next to GPUs that compute, is not supported by any current driver: the open
modules support Turing and later, and 580 is the last branch for anything older. If such a card is driven all the same,
the bus shows it. If the inventory sets the number (`gpustack_gpus`), that counts; 0 leaves the GPUs of the host alone.

Sources: Linux Documentation/driver-api/vfio.rst; NVIDIA/open-gpu-kernel-modules README, table of compatible GPUs, whose
first device id is 1e02.
"""

from collections.abc import Mapping

from gpustack.ask.view import View
from gpustack.probes.gpu.devices import GPU_DEVICES, Device

# vfio-pci and its variants by vendor (nvgrace-gpu-vfio-pci), the stub that only keeps others away, and Xen's.
PASSTHROUGH_DRIVERS = ("vfio-pci", "pci-stub", "pciback", "xen-pciback")
TURING = 0x1E00
VGA_CLASS = "0300"


def list_gpus(view: View) -> tuple[Device, ...]:
    """List the GPUs of a host that are for Kubernetes, as far as the bus tells. Raise FactUnavailable."""
    devices = view[GPU_DEVICES]
    if not devices or view.host.spec.gpustack_gpus == 0:
        return ()
    excluded_devices = find_excluded_devices(devices)
    return tuple(device for device in devices if device.bus not in excluded_devices)


def count_gpus(view: View) -> int:
    """Count the GPUs that a host offers: the number in the inventory, else those on the bus that are for Kubernetes.
    Raise FactUnavailable."""
    inventory_count = view.host.spec.gpustack_gpus
    return len(list_gpus(view)) if inventory_count is None else inventory_count


def find_excluded_devices(devices: tuple[Device, ...]) -> Mapping[str, str]:
    """Find functions of the bus that are not for Kubernetes, by address, with the reason."""
    reasons = {device.bus: f"bound to {device.driver}" for device in devices if is_passed_through(device)}
    has_newer = any(device.number >= TURING for device in devices)
    for device in devices:
        if has_newer and device.kind == VGA_CLASS and device.number < TURING and device.driver != "nvidia":
            reasons.setdefault(device.bus, f"10de:{device.device} is older than Turing, and nvidia does not drive it")
    return reasons


def is_passed_through(device: Device) -> bool:
    return device.driver in PASSTHROUGH_DRIVERS or device.driver.endswith("-vfio-pci")


def count_passthrough_gpus(view: View) -> int:
    """Count the GPUs of a host that are bound for virtual machines. Raise FactUnavailable."""
    return sum(1 for device in view[GPU_DEVICES] if is_passed_through(device))
