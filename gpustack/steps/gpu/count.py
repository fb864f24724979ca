"""How many GPUs of a host are for Kubernetes: the one count that every check, proof and report uses.

Not every NVIDIA display controller on the bus counts. One that is bound to a passthrough driver belongs to a virtual
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
HANDS_ON = ("vfio-pci", "pci-stub", "pciback", "xen-pciback")
TURING = 0x1E00
SCREEN = "0300"


def gpus(there: View) -> tuple[Device, ...]:
    """Those of a host that are for Kubernetes, as far as the bus tells. Raises FactUnavailable."""
    found = there[GPU_DEVICES]
    if not found or there.host.spec.gpustack_gpus == 0:
        return ()
    away = set_aside(found)
    return tuple(one for one in found if one.bus not in away)


def gpu_count(there: View) -> int:
    """What a host is to give: what the inventory says, else what the bus has for Kubernetes. Raises FactUnavailable."""
    stated = there.host.spec.gpustack_gpus
    return len(gpus(there)) if stated is None else stated


def set_aside(found: tuple[Device, ...]) -> Mapping[str, str]:
    """Functions that are not for Kubernetes, by address, and why."""
    away = {one.bus: f"bound to {one.driver}" for one in found if handed_on(one)}
    newer = any(one.number >= TURING for one in found)
    for one in found:
        if newer and one.kind == SCREEN and one.number < TURING and one.driver != "nvidia":
            away.setdefault(one.bus, f"10de:{one.device} is older than Turing, and nvidia does not drive it")
    return away


def handed_on(one: Device) -> bool:
    return one.driver in HANDS_ON or one.driver.endswith("-vfio-pci")


def passed_on(there: View) -> int:
    """How many GPUs of a host are bound for virtual machines. Raises FactUnavailable."""
    return sum(1 for one in there[GPU_DEVICES] if handed_on(one))
