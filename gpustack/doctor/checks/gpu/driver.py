"""Faults of the layer `gpu-host` that stop the driver."""

import re

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.doctor.check import build_names, check
from gpustack.doctor.checks.monitoring.exporter import find_log_lines, list_own_pods
from gpustack.probes.gpu.cluster import GPU_NODES, GpuNode
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER, GPU_SMI
from gpustack.probes.gpu.logs import KERNEL_LOG, LOGS
from gpustack.probes.gpu.packages import GPU_KERNELS, GPU_PACKAGES
from gpustack.probes.gpu.settings import SETTINGS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS
from gpustack.probes.packages.dpkg import BUILD_ERRORS
from gpustack.steps.gpu.count import count_gpus, list_gpus
from gpustack.steps.gpu.generation import LEGACY_HINT, describe_generation, find_unsupported_gpus
from gpustack.steps.gpu.mode import LIBRARIES, MODULES, parse_version
from gpustack.steps.gpu.mode import MODULE as MODULE_PACKAGE

NO_GPU = "the host has no GPU"
MODULE = "module nvidia"
DRIVER_PODS = "nvidia-driver-daemonset"
# Packages of one branch of the driver; tools beside it have versions of their own. Firmware does not count: each
# version has a folder of its own, and an upgrade leaves the old one to autoremove.
BRANCH_PACKAGE = re.compile(
    r"(lib)?nvidia-(compute|driver|kernel|dkms|headless|utils|ml1|gl|decode|encode|open)\b.*|libcuda1"
)
VERSION = re.compile(r"(\d{3})\.\d{2,3}")
HOST_DRIVER_VALUE = "pre-installed"
INFOROM = 14


def find_gpu_node(view: View) -> GpuNode | None:
    """Return the node of this host, or None where the host is not a node."""
    machine_id = view[IDENTITY].machine_id
    return view.compute_once(index_gpu_nodes).get(machine_id)


def index_gpu_nodes(view: View) -> dict[str, GpuNode]:
    nodes = view[GPU_NODES]
    return {node.machine_id: node for node in reversed(nodes)}


def list_module_packages(view: View) -> list[str]:
    names = {*LIBRARIES.values(), *(name for kinds in MODULES.values() for name in kinds.values())}
    packages = view[GPU_PACKAGES]
    return sorted(name for name in names if name in packages)


def find_hindrance(view: View) -> str:
    """Return the underlying cause for which no module could be loaded, or an empty text for none."""
    gpu_driver, running_kernel = view[GPU_DRIVER], view[GPU_KERNELS].running
    if gpu_driver.nouveau_loaded:
        return "nouveau is loaded"
    if gpu_driver.secure_boot and not gpu_driver.key_enrolled:
        return "Secure Boot rejects it"
    return (
        "" if running_kernel.module or running_kernel.headers else f"no headers for the kernel {running_kernel.release}"
    )


@check("gpu-nouveau-loaded", GPU_DEVICES, GPU_DRIVER)
def nouveau(view: View) -> Result:
    if not list_gpus(view):
        return build_ok_result("nouveau", NO_GPU)
    gpu_driver = view[GPU_DRIVER]
    has = gpu_driver.nouveau_loaded and not gpu_driver.module
    return Result("nouveau", "not loaded", "loaded" if gpu_driver.nouveau_loaded else "not loaded", ok=not has)


@check(
    "gpu-kernel-headers-missing", GPU_DEVICES, GPU_DRIVER, GPU_KERNELS, GPU_PACKAGES, LOGS, GPU_PODS, NODES, IDENTITY
)
def headers(view: View) -> Result:
    """Look for missing kernel headers where a module has to be built for the running kernel, on the host or in a
    container, and is missing."""
    if not list_gpus(view) or view[GPU_DRIVER].module:
        return build_ok_result(MODULE, "loaded" if list_gpus(view) else NO_GPU)
    running_kernel = view[GPU_KERNELS].running
    subject = f"headers of the kernel {running_kernel.release}"
    if list_module_packages(view) and not running_kernel.headers and not running_kernel.module:
        return Result(subject, "present", "missing, with no module built for it")
    words = find_log_lines(view, "no-headers")
    if words and any(not pod.ready for pod in list_own_pods(view, DRIVER_PODS)):
        return Result(subject, "present", words[0].line)
    return build_ok_result(subject, "present" if running_kernel.headers else "not needed")


@check("gpu-driver-not-loaded", GPU_DEVICES, GPU_DRIVER, GPU_KERNELS, GPU_PACKAGES, BUILD_ERRORS)
def not_loaded(view: View) -> Result:
    """Check that an installed driver is loaded, where no underlying cause is known."""
    if not list_gpus(view):
        return build_ok_result(MODULE, NO_GPU)
    gpu_driver = view[GPU_DRIVER]
    if gpu_driver.module or not (gpu_driver.library or list_module_packages(view)):
        return build_ok_result(MODULE, gpu_driver.module or "no driver on the host")
    if reason := find_hindrance(view):
        return build_ok_result(MODULE, reason)
    if generation := describe_unsupported_gpus(view):
        return Result(MODULE, "loaded", f"not loaded: {generation}", person=LEGACY_HINT, certain=False)
    running_kernel = view[GPU_KERNELS].running
    if running_kernel.module:
        return Result(MODULE, "loaded", f"not loaded, although built ({running_kernel.module})")
    state = f"not built for the kernel {running_kernel.release}"
    errors = view[BUILD_ERRORS] if view.has_fact(BUILD_ERRORS) else ()
    lines = [
        error.line for error in errors if error.module.startswith("nvidia") and error.kernel == running_kernel.release
    ]
    if not lines:
        return Result(MODULE, "loaded", state)
    log = Command("less", "/var/lib/dkms/nvidia/*/build/make.log")
    person = Prose("a build of the module failed and fails again until its error is corrected: {}", log)
    return Result(MODULE, "loaded", f"{state}: {'; '.join(lines)}", person=person, certain=False)


def describe_unsupported_gpus(view: View) -> str:
    """Describe the GPUs of a host whose installed module supports none of them, since they are older than it: the
    module unloads itself then. Return an empty text where it supports one, or no package says which module it is."""
    packages = {name: package for name, package in view[GPU_PACKAGES].items() if MODULE_PACKAGE.fullmatch(name)}
    if len(packages) != 1:
        return ""
    ((name, package),) = packages.items()
    kind, branch = "open" if "open" in name else "proprietary", parse_version(package.version)[:1]
    devices = list_gpus(view)
    old_devices, _ = find_unsupported_gpus(devices, kind, branch[0]) if branch else ([], [])
    if not devices or len(old_devices) < len(devices):
        return ""
    return f"{describe_generation(old_devices, [])}, which {name} {package.version} does not support"


@check("gpu-driver-not-loaded guard", GPU_DEVICES, GPU_DRIVER, GPU_KERNELS)
def nothing_deeper(view: View) -> Result:
    if not list_gpus(view):
        return build_ok_result("underlying cause", NO_GPU)
    reason = find_hindrance(view)
    return Result("underlying cause", "one", reason or "none", ok=bool(reason))


@check("gpu-host-driver-conflict", GPU_DEVICES, GPU_DRIVER, SETTINGS, GPU_NODES, IDENTITY)
def conflict(view: View) -> Result:
    """Look for a driver of the host beside the operator's. The operator skips nodes on which it detected a driver
    before it installed its own."""
    subject = "drivers of the host"
    if not list_gpus(view):
        return build_ok_result(subject, NO_GPU)
    if not any(settings.driver for settings in view[SETTINGS] or ()):
        return build_ok_result(subject, "none by the operator")
    node, library = find_gpu_node(view), view[GPU_DRIVER].library
    if not library or (node and node.labels.get("nvidia.com/gpu.deploy.driver") == HOST_DRIVER_VALUE):
        return build_ok_result(subject, "only the host's" if library else "only the operator's")
    return Result(subject, "one", f"{library} on the host, and the operator's")


@check("gpu-leftover-driver-packages", GPU_DEVICES, GPU_PACKAGES, GPU_DRIVER)
def leftovers(view: View) -> Result:
    """Look for packages of two branches, or packages beside a driver of the .run installer."""
    subject = "installed driver versions"
    if not list_gpus(view):
        return build_ok_result(subject, NO_GPU)
    versions = {name: package.version for name, package in view[GPU_PACKAGES].items() if BRANCH_PACKAGE.fullmatch(name)}
    branches = {match[1] for version in versions.values() if (match := VERSION.match(version))}
    words = sorted(branches) + ["the .run installer's"] * view[GPU_DRIVER].uninstaller
    if len(words) < 2:
        return build_ok_result(subject, format_value(words))
    odd_package = next((f"{name} {version}" for name, version in versions.items() if version.startswith(words[0])), "")
    runs = VERSION.match(view[GPU_DRIVER].library)
    other_branches = branches - {runs[1]} if runs else branches
    return Result(subject, "one", format_value(words), quote=odd_package, names=build_names(BRANCH=other_branches))


@check("gpu-inforom-corrupt", GPU_DEVICES, GPU_SMI)
def inforom(view: View) -> Result:
    """Judge the exit status of nvidia-smi, which still lists the GPU."""
    if not list_gpus(view):
        return build_ok_result("nvidia-smi", NO_GPU)
    smi = view[GPU_SMI]
    return Result("exit status of nvidia-smi", "0", str(smi.rc) if smi.rc >= 0 else smi.state, ok=smi.rc != INFOROM)


@check("gpu-adapter-init-failed", GPU_DEVICES, GPU_DRIVER, GPU_SMI, KERNEL_LOG)
def adapter(view: View) -> Result:
    """Check that a loaded module lists all GPUs. Fewer count only where the kernel log shows that one failed to
    initialise."""
    devices, smi = count_gpus(view), view[GPU_SMI]
    subject = "GPUs initialised by the driver"
    if not devices or not view[GPU_DRIVER].module:
        return build_ok_result(subject, NO_GPU if not devices else f"{MODULE} not loaded")
    if smi.state != "ended":
        raise FactUnavailable("nvidia-smi listed no GPUs, because it did not end")
    words = view[KERNEL_LOG].adapter
    has_none = smi.message.startswith("No devices were found")
    if has_none or (words and len(smi.gpus) < devices):
        return Result(subject, str(devices), words or smi.message)
    return build_ok_result(subject, str(len(smi.gpus)))


@check("st-driver-not-ready", GPU_DEVICES, GPU_DRIVER, GPU_SMI, GPU_PACKAGES, GPU_PODS, NODES, IDENTITY)
def not_ready(view: View) -> Result:
    """Check that the driver works where one is installed or being installed. A lost GPU is another state."""
    if not list_gpus(view):
        return build_ok_result("driver", NO_GPU)
    gpu_driver, smi, pods = view[GPU_DRIVER], view[GPU_SMI], list_own_pods(view, DRIVER_PODS)
    if not (gpu_driver.module or gpu_driver.library or list_module_packages(view) or pods):
        return build_ok_result("driver", "not installed yet")
    if not gpu_driver.module:
        return Result("driver", "working", f"{MODULE} not loaded")
    if gpu_driver.library and gpu_driver.library != gpu_driver.module:
        return Result("driver", "working", f"module {gpu_driver.module}, libraries {gpu_driver.library}")
    if smi.state == "hangs" or (smi.rc > 0 and smi.rc != LOST_GPU_STATUS) or (smi.rc == 0 and not smi.gpus):
        return Result("nvidia-smi", "working", smi.message or f"{smi.state}, {smi.rc}")
    return build_ok_result("driver", "working")


LOST_GPU_STATUS = 15
