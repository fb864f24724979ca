"""Faults of the layer `gpu-host` that stop the driver, and whether it answers."""

import re

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check, names
from gpustack.doctor.checks.monitoring.exporter import find_log_lines, own_pods
from gpustack.probes.gpu.cluster import GPU_NODES, GpuNode
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER, GPU_SMI
from gpustack.probes.gpu.logs import KERNEL_WORDS, LOGS
from gpustack.probes.gpu.packages import GPU_KERNELS, GPU_PACKAGES
from gpustack.probes.gpu.settings import SETTINGS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS
from gpustack.steps.gpu.count import gpu_count, gpus
from gpustack.steps.gpu.mode import LIBRARIES, MODULES

NO_GPU = "the host has no GPU"
MODULE = "module nvidia"
DRIVER_PODS = "nvidia-driver-daemonset"
# Packages that are of one branch of the driver; tools beside it have versions of their own.
# Firmware is not among them: each version lies in a folder of its own, and an upgrade leaves the old one to autoremove.
BRANCHED = re.compile(
    r"(lib)?nvidia-(compute|driver|kernel|dkms|headless|utils|ml1|gl|decode|encode|open)\b.*|libcuda1"
)
VERSION = re.compile(r"(\d{3})\.\d{2,3}")
PREINSTALLED = "pre-installed"
INFOROM = 14


def gpu_node(here: View) -> GpuNode | None:
    """The node that this host is."""
    machine_id = here[IDENTITY].machine_id
    return here.once(gpu_nodes_by_machine_id).get(machine_id)


def gpu_nodes_by_machine_id(here: View) -> dict[str, GpuNode]:
    nodes = here[GPU_NODES]
    return {node.machine_id: node for node in reversed(nodes)}


def module_packages(here: View) -> list[str]:
    names = {*LIBRARIES.values(), *(name for kinds in MODULES.values() for name in kinds.values())}
    there = here[GPU_PACKAGES]
    return sorted(name for name in names if name in there)


def find_hindrance(here: View) -> str:
    """Why no module could be loaded, deeper than that it is not; empty for none."""
    found, running = here[GPU_DRIVER], here[GPU_KERNELS].running
    if found.nouveau_loaded:
        return "nouveau is loaded"
    if found.secure_boot and not found.key_enrolled:
        return "Secure Boot rejects it"
    return "" if running.module or running.headers else f"no headers for the kernel {running.release}"


@check("gpu-nouveau-loaded", GPU_DEVICES, GPU_DRIVER)
def nouveau(here: View) -> Result:
    if not gpus(here):
        return ok("nouveau", NO_GPU)
    found = here[GPU_DRIVER]
    has = found.nouveau_loaded and not found.module
    return Result("nouveau", "not loaded", "loaded" if found.nouveau_loaded else "not loaded", ok=not has)


@check(
    "gpu-kernel-headers-missing", GPU_DEVICES, GPU_DRIVER, GPU_KERNELS, GPU_PACKAGES, LOGS, GPU_PODS, NODES, IDENTITY
)
def headers(here: View) -> Result:
    """Checked where a module has to be built for the running kernel, on the host or in a container, and is missing."""
    if not gpus(here) or here[GPU_DRIVER].module:
        return ok(MODULE, "loaded" if gpus(here) else NO_GPU)
    running = here[GPU_KERNELS].running
    what = f"headers of the kernel {running.release}"
    if module_packages(here) and not running.headers and not running.module:
        return Result(what, "present", "missing, with no module built for it")
    words = find_log_lines(here, "no-headers")
    if words and any(not pod.ready for pod in own_pods(here, DRIVER_PODS)):
        return Result(what, "present", words[0].line)
    return ok(what, "present" if running.headers else "not needed")


@check("gpu-driver-not-loaded", GPU_DEVICES, GPU_DRIVER, GPU_KERNELS, GPU_PACKAGES)
def not_loaded(here: View) -> Result:
    """A driver is installed on the host, and no underlying cause is known."""
    if not gpus(here):
        return ok(MODULE, NO_GPU)
    found = here[GPU_DRIVER]
    if found.module or not (found.library or module_packages(here)):
        return ok(MODULE, found.module or "no driver on the host")
    if why := find_hindrance(here):
        return ok(MODULE, why)
    running = here[GPU_KERNELS].running
    there = (
        f"not loaded, although built ({running.module})"
        if running.module
        else f"not built for the kernel {running.release}"
    )
    return Result(MODULE, "loaded", there)


@check("gpu-driver-not-loaded guard", GPU_DEVICES, GPU_DRIVER, GPU_KERNELS)
def nothing_deeper(here: View) -> Result:
    if not gpus(here):
        return ok("underlying cause", NO_GPU)
    why = find_hindrance(here)
    return Result("underlying cause", "one", why or "none", ok=bool(why))


@check("gpu-host-driver-conflict", GPU_DEVICES, GPU_DRIVER, SETTINGS, GPU_NODES, IDENTITY)
def conflict(here: View) -> Result:
    """The operator skips nodes on which it detected a driver before it installed its own; this node is not one of
    them."""
    what = "drivers of the host"
    if not gpus(here):
        return ok(what, NO_GPU)
    if not any(one.driver for one in here[SETTINGS] or ()):
        return ok(what, "none by the operator")
    node, library = gpu_node(here), here[GPU_DRIVER].library
    if not library or (node and node.labels.get("nvidia.com/gpu.deploy.driver") == PREINSTALLED):
        return ok(what, "only the host's" if library else "only the operator's")
    return Result(what, "one", f"{library} on the host, and the operator's")


@check("gpu-leftover-driver-packages", GPU_DEVICES, GPU_PACKAGES, GPU_DRIVER)
def leftovers(here: View) -> Result:
    """Packages of two branches, or packages beside a driver of the .run installer."""
    what = "installed driver versions"
    if not gpus(here):
        return ok(what, NO_GPU)
    there = {name: one.version for name, one in here[GPU_PACKAGES].items() if BRANCHED.fullmatch(name)}
    branches = {match[1] for version in there.values() if (match := VERSION.match(version))}
    words = sorted(branches) + ["the .run installer's"] * here[GPU_DRIVER].uninstaller
    if len(words) < 2:
        return ok(what, as_text(words))
    odd = next((f"{name} {version}" for name, version in there.items() if version.startswith(words[0])), "")
    runs = VERSION.match(here[GPU_DRIVER].library)
    others = branches - {runs[1]} if runs else branches
    return Result(what, "one", as_text(words), quote=odd, names=names(BRANCH=others))


@check("gpu-inforom-corrupt", GPU_DEVICES, GPU_SMI)
def inforom(here: View) -> Result:
    """By the exit status of nvidia-smi, which still lists the GPU."""
    if not gpus(here):
        return ok("nvidia-smi", NO_GPU)
    found = here[GPU_SMI]
    return Result(
        "exit status of nvidia-smi", "0", str(found.rc) if found.rc >= 0 else found.state, ok=found.rc != INFOROM
    )


@check("gpu-adapter-init-failed", GPU_DEVICES, GPU_DRIVER, GPU_SMI, KERNEL_WORDS)
def adapter(here: View) -> Result:
    """The module is loaded, but the driver lists no GPU, or fewer while the kernel log shows that one failed to
    initialise."""
    devices, shown = gpu_count(here), here[GPU_SMI]
    what = "GPUs initialised by the driver"
    if not devices or not here[GPU_DRIVER].module or shown.state != "ended":
        return ok(what, NO_GPU if not devices else "the driver does not respond")
    words = here[KERNEL_WORDS].adapter
    none = shown.message.startswith("No devices were found")
    if none or (words and len(shown.gpus) < devices):
        return Result(what, str(devices), words or shown.message)
    return ok(what, str(len(shown.gpus)))


@check("st-driver-not-ready", GPU_DEVICES, GPU_DRIVER, GPU_SMI, GPU_PACKAGES, GPU_PODS, NODES, IDENTITY)
def not_ready(here: View) -> Result:
    """Checked where a driver is installed or being installed. A lost GPU is another state."""
    if not gpus(here):
        return ok("driver", NO_GPU)
    found, shown, pods = here[GPU_DRIVER], here[GPU_SMI], own_pods(here, DRIVER_PODS)
    if not (found.module or found.library or module_packages(here) or pods):
        return ok("driver", "not installed yet")
    if not found.module:
        return Result("driver", "working", f"{MODULE} not loaded")
    if found.library and found.library != found.module:
        return Result("driver", "working", f"module {found.module}, libraries {found.library}")
    if shown.state == "hangs" or (shown.rc > 0 and shown.rc != LOST) or (shown.rc == 0 and not shown.gpus):
        return Result("nvidia-smi", "working", shown.message or f"{shown.state}, {shown.rc}")
    return ok("driver", "working")


LOST = 15


CHECKS = (nouveau, headers, not_loaded, nothing_deeper, conflict, leftovers, inforom, adapter, not_ready)
