"""Faults of the layer `gpu-operator` in containerd's runtime for GPUs, and in its configuration."""

import re
from fnmatch import fnmatch

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.gpu.driver import NO_GPU
from gpustack.doctor.checks.monitoring.exporter import list_own_pods
from gpustack.probes.containerd.daemon import CONFIGURATION, DROP_IN, FOLDER, RUNTIME
from gpustack.probes.containerd.refusal import REFUSAL
from gpustack.probes.containerd.tables import CONFIG_TABLES
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.runtime import RUNTIME_FILES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS
from gpustack.steps.gpu.count import list_gpus

# Of containerd 2.3.0 to 2.3.4 (cmd/containerd/server/config/config.go).
NEWER_VERSION = re.compile(r"drop-in config version (\d+) higher than root config version \d+")
TOOLKIT = "nvidia-container-toolkit-daemonset"


@check("op-nvidia-runtime-handler-missing", GPU_DEVICES, RUNTIME, RUNTIME_FILES, GPU_PODS, NODES, IDENTITY)
def handler(view: View) -> Result:
    """Check that the running containerd has the runtime, where the operator's toolkit or gpustack's file configures
    it."""
    subject = "runtime nvidia of the running containerd"
    if not list_gpus(view):
        return build_ok_result(subject, NO_GPU)
    if not list_own_pods(view, TOOLKIT) and not view[RUNTIME_FILES].drop_in:
        return build_ok_result(subject, "not configured on this host")
    runtime = view[RUNTIME]
    if runtime is None:
        raise FactUnavailable("containerd does not respond")
    return Result(subject, "present", format_value(runtime.nvidia), ok=bool(runtime.nvidia))


@check("op-nvidia-runtime-handler-missing guard", RUNTIME_FILES, GPU_PODS, NODES, IDENTITY)
def toolkit_runs(view: View) -> Result:
    pods = list_own_pods(view, TOOLKIT)
    ready = any(pod.ready for pod in pods) or bool(view[RUNTIME_FILES].drop_in)
    return Result("container toolkit", "not running", "running" if ready else "not running", ok=not ready)


@check("op-containerd-imports-overwritten", CONFIGURATION)
def imports(view: View) -> Result:
    """Check that the imports cover gpustack's file, if it exists. Without imports, config.toml was replaced."""
    configuration = view[CONFIGURATION]
    if configuration.drop_in is None or not configuration.imports:
        return build_ok_result(
            "imports of config.toml", "no file of the toolkit" if configuration.drop_in is None else "none"
        )
    is_imported = any(fnmatch(f"{FOLDER}{DROP_IN}", pattern) for pattern in configuration.imports)
    return Result(
        "imports of config.toml", f"{FOLDER}{DROP_IN} too", format_value(configuration.imports), ok=bool(is_imported)
    )


@check("op-toolkit-config-incompatible", CONFIGURATION, RUNTIME, UNITS, CONFIG_TABLES, REFUSAL)
def toolkit_file(view: View) -> Result:
    """Look for a file of the toolkit that containerd refuses for its version, in containerd's words, or for an invalid
    one while containerd does not respond. A daemon that started after its files were written has accepted them."""
    configuration, unit = view[CONFIGURATION], view[UNITS].get("containerd")
    if view[RUNTIME] and unit and unit.active_since and unit.active_since >= configuration.newest:
        return build_ok_result("files of the toolkit", "accepted by containerd")
    parse_errors = {file: reason for file, reason in configuration.parse_errors.items() if "nvidia" in file}
    if parse_errors and not view[RUNTIME]:
        file, reason = next(iter(parse_errors.items()))
        return Result(f"{FOLDER}{file}", "valid for containerd", reason)
    if match := NEWER_VERSION.search(view[REFUSAL]):
        files = [name for name, tables in view[CONFIG_TABLES].items() if tables.version == int(match[1])]
        if newer_file := next((name for name in files if "nvidia" in name), ""):
            return Result(f"{FOLDER}{newer_file}", "of no higher version than config.toml", match[0])
    return build_ok_result("files of the toolkit", "accepted by containerd" if parse_errors else "valid")


@check("op-toolkit-runtime-untyped", CONFIG_TABLES)
def runtime_types(view: View) -> Result:
    """Look for a runtime of the toolkit whose type no file gives: containerd creates no container with it. Version 1.19
    leaves the type out where it takes config.toml as its source."""
    types: dict[str, bool] = {}
    for tables in view[CONFIG_TABLES].values():
        for name, has_type in tables.runtimes.items():
            types[name] = types.get(name, False) or has_type
    untyped_runtimes = [name for name, has_type in types.items() if "nvidia" in name and not has_type]
    if not untyped_runtimes:
        return build_ok_result("runtimes of the toolkit", "with a runtime_type" if types else "none")
    return Result(f"runtime_type of {format_value(untyped_runtimes)}", "in a file of containerd", "in none")
