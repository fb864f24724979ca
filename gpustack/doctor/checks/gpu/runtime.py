"""Faults of the layer `gpu-operator` on a host: whether containerd has the runtime for GPUs, and who configures it."""

from fnmatch import fnmatch

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.gpu.driver import NO_GPU
from gpustack.doctor.checks.monitoring.exporter import own_pods
from gpustack.probes.containerd.daemon import CONFIGURATION, DROP_IN, FOLDER, RUNTIME
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.runtime import RUNTIME_FILES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS
from gpustack.steps.gpu.count import gpus

TOOLKIT = "nvidia-container-toolkit-daemonset"


@check("op-nvidia-runtime-handler-missing", GPU_DEVICES, RUNTIME, RUNTIME_FILES, GPU_PODS, NODES, IDENTITY)
def handler(here: View) -> Result:
    """Of the running containerd, where the operator's toolkit or gpustack's file configures it."""
    what = "runtime nvidia of the running containerd"
    running = here[RUNTIME] if gpus(here) else None
    if running is None:
        return ok(what, "containerd does not respond" if gpus(here) else NO_GPU)
    if not own_pods(here, TOOLKIT) and not here[RUNTIME_FILES].drop_in:
        return ok(what, "not configured on this host")
    return Result(what, "present", as_text(running.nvidia), ok=bool(running.nvidia))


@check("op-nvidia-runtime-handler-missing guard", RUNTIME_FILES, GPU_PODS, NODES, IDENTITY)
def toolkit_runs(here: View) -> Result:
    pods = own_pods(here, TOOLKIT)
    ready = any(pod.ready for pod in pods) or bool(here[RUNTIME_FILES].drop_in)
    return Result("container toolkit", "not running", "running" if ready else "not running", ok=not ready)


@check("op-containerd-imports-overwritten", CONFIGURATION)
def imports(here: View) -> Result:
    """The imports do not cover gpustack's file, although it exists. Without imports, config.toml was replaced."""
    found = here[CONFIGURATION]
    if found.drop_in is None or not found.imports:
        return ok("imports of config.toml", "no file of the toolkit" if found.drop_in is None else "none")
    reads = any(fnmatch(f"{FOLDER}{DROP_IN}", pattern) for pattern in found.imports)
    return Result("imports of config.toml", f"{FOLDER}{DROP_IN} too", as_text(found.imports), ok=bool(reads))


@check("op-toolkit-config-incompatible", CONFIGURATION, RUNTIME)
def toolkit_file(here: View) -> Result:
    """containerd does not respond, and a file of the toolkit is invalid."""
    broken = {file: why for file, why in here[CONFIGURATION].broken.items() if "nvidia" in file}
    if not broken or here[RUNTIME]:
        return ok("files of the toolkit", "accepted by containerd" if broken else "valid")
    file, why = next(iter(broken.items()))
    return Result(f"{FOLDER}{file}", "valid for containerd", why)


CHECKS = (handler, toolkit_runs, imports, toolkit_file)
