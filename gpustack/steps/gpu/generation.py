"""Check of step gpu-driver: the GPUs that its version and type of module support, by their PCI device ids.

The table of the open module begins with Turing, at 1e02 (open-gpu-kernel-modules: g_nv_name_released.h); Blackwell,
from 2901 on, has no other module, and from branch 615 on there is no other for any GPU (NVIDIA/gpu-driver-container,
ubuntu24.04/nvidia-driver; cupy/cupy pull 10295 for the packages). 580 is the last branch for GPUs older than Turing
(NVIDIA: UNIX graphics feature deprecation schedule).
"""

from collections.abc import Sequence

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Hint, Prose, join_hints
from gpustack.config.resolution import resolve_driver_version
from gpustack.probes.gpu.devices import Device
from gpustack.steps.gpu.count import TURING, count_gpus, list_gpus
from gpustack.steps.gpu.mode import parse_branch, uses_driver_mode

BLACKWELL = 0x2900
LAST_LEGACY_BRANCH, OPEN_ONLY_BRANCH = 580, 615
LEGACY_HINT: Hint = Prose(
    "gpu.driver: {{version: {}.…, kernel_module: proprietary}} in the spec",
    str(LAST_LEGACY_BRANCH),
)


def vgpu_guest(view: View) -> Result | None:
    """The GPUs are whole: a virtual machine with vGPUs of a hypervisor needs NVIDIA's guest driver, which neither
    driver containers nor NVIDIA's public repository have, and a licence. Install both on the host, and nothing is
    installed over them (docs/gpu.md)."""
    if not uses_driver_mode(view, "host", "container"):
        return None
    guests = [device.bus for device in list_gpus(view) if device.vgpu]
    if not guests:
        return None
    hint = Prose("install NVIDIA's vGPU guest driver and its licence on that host", note="gpustack explain gpu-driver")
    return Result(
        "GPUs", "whole, or passed through", f"vGPUs of a hypervisor: {format_value(guests)}", "operator", hint=hint
    )


def generation(view: View) -> Result | None:
    """The driver's branch and type of module support the GPUs: otherwise it loads but finds none. GPUs before Turing
    (V100, P100, P40, P4, GTX 10) need branch 580 and the proprietary module, Blackwell (B200, RTX 50) the open one.
    Exclude a card that is only for a display with `gpustack_gpus` in the inventory."""
    if not uses_driver_mode(view, "host", "container"):
        return None
    devices, kind = list_gpus(view), view.spec.gpu.driver.kernel_module
    version = resolve_driver_version(view.spec)
    branch = parse_branch(view)
    hint: Hint = NO_HINT
    if kind == "proprietary" and branch >= OPEN_ONLY_BRANCH:
        return Result(
            "kernel module", f"open, the only one from branch {OPEN_ONLY_BRANCH} on", kind, "operator", hint=hint
        )
    old_devices, new_devices = find_unsupported_gpus(devices, kind, branch)
    remaining_count = len(devices) - len(old_devices) - len(new_devices)
    if not (old_devices or new_devices) or remaining_count >= count_gpus(view):
        return None
    if old_devices:
        hint = LEGACY_HINT
    if old_devices and remaining_count:
        display = Prose("gpustack_gpus: {} in the inventory, where these are for a display alone", str(remaining_count))
        hint = join_hints(hint, display)
    actual = describe_generation(old_devices, new_devices)
    return Result("GPUs", f"supported by the {kind} module of {version}", actual, "operator", hint=hint)


def find_unsupported_gpus(devices: Sequence[Device], kind: str, branch: int) -> tuple[list[Device], list[Device]]:
    """Find the GPUs that a branch of the driver does not support with this kind of module: those that are too old for
    it, and those that are too new."""
    supports_legacy = kind == "proprietary" and branch <= LAST_LEGACY_BRANCH
    old_devices = [] if supports_legacy else [device for device in devices if device.number < TURING]
    return old_devices, [device for device in devices if device.number >= BLACKWELL and kind == "proprietary"]


def describe_generation(old_devices: Sequence[Device], new_devices: Sequence[Device]) -> str:
    names = format_value([f"{device.bus} 10de:{device.device}" for device in old_devices or new_devices])
    return f"{names}: {'older than Turing' if old_devices else 'Blackwell'}"
