"""Check of step gpu-driver: which GPUs its version and type of module support, by their PCI device ids.

The table of the open module begins with Turing, at 1e02 (open-gpu-kernel-modules: g_nv_name_released.h); Blackwell,
from 2901 on, has no other module, and from branch 615 on there is no other for any GPU (NVIDIA/gpu-driver-container,
ubuntu24.04/nvidia-driver; cupy/cupy pull 10295 for the packages). 580 is the last branch for GPUs older than Turing
(NVIDIA: UNIX graphics feature deprecation schedule).
"""

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Hint, Prose, join_hints
from gpustack.config.resolved import driver_version_of
from gpustack.steps.gpu.count import TURING, gpu_count, gpus
from gpustack.steps.gpu.mode import branch_of, driven

BLACKWELL = 0x2900
LAST, OPEN_ONLY = 580, 615


def generation(here: View) -> Result | None:
    """The driver's branch and type of module support the GPUs: otherwise it loads but finds none. GPUs before Turing
    (V100, P100, P40, P4, GTX 10) need branch 580 and the proprietary module, Blackwell (B200, RTX 50) the open one.
    Exclude a card that is only for a display with `gpustack_gpus` in the inventory."""
    if not driven(here, "host", "container"):
        return None
    found, kind = gpus(here), here.spec.gpu.driver.kernel_module
    version = driver_version_of(here.spec)
    branch = branch_of(here)
    hint: Hint = Prose("gpu.driver.kernel_module: open in the spec")
    if kind == "proprietary" and branch >= OPEN_ONLY:
        return Result("kernel module", f"open, the only one from branch {OPEN_ONLY} on", kind, "operator", hint=hint)
    lasts = kind == "proprietary" and branch <= LAST
    old = [] if lasts else [one for one in found if one.number < TURING]
    new = [one for one in found if one.number >= BLACKWELL and kind == "proprietary"]
    rest = len(found) - len(old) - len(new)
    if not (old or new) or rest >= gpu_count(here):
        return None
    if old:
        hint = Prose("gpu.driver: {{version: {}.…, kernel_module: proprietary}} in the spec, or mode: none", str(LAST))
    if old and rest:
        display = Prose("gpustack_gpus: {} in the inventory, where these are for a display alone", str(rest))
        hint = join_hints(hint, display)
    names = as_text([f"{one.bus} 10de:{one.device}" for one in old or new])
    actual = f"{names}: {'older than Turing' if old else 'Blackwell'}"
    return Result("GPUs", f"supported by the {kind} module of {version}", actual, "operator", hint=hint)
