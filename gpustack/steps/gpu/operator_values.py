"""The values for the chart gpu-operator: ours < those that follow from the spec and the hosts < the operator's."""

import re
from typing import Any

from gpustack.ask.view import View
from gpustack.config.resolved import driver_version_of
from gpustack.config.values import merged, ours
from gpustack.probes.gpu.cluster import GPU_DAEMON_SETS
from gpustack.steps.gpu.exporter import COUNTERS, own_and_more, patience, variables
from gpustack.steps.gpu.hosts import expected, sharing, silent
from gpustack.steps.gpu.mode import mode
from gpustack.steps.release import Release

CHART = "gpu-operator"
SHARING = "gpustack-device-plugin"
DRIVER = "nvidia-driver-daemonset"  # of a pool of nodes: with a suffix
WHOLE = "none"
# Layouts that leave all GPUs of a host alike, by the names of NVIDIA's MIG manager: all-disabled, all-1g.10gb,
# all-1g.20gb.me. Not all-balanced, and not all-enabled, which makes no instances.
UNIFORM = re.compile(r"all-(disabled|\d+g\..+)")


def wanted(here: View) -> bool:
    """Raises FactUnavailable where it is unknown whether there are GPUs."""
    return here.spec.gpu.stack == "operator" and bool(expected(here))


def release(here: View) -> Release:
    """Raises FactUnavailable where it is unknown who installs the drivers."""
    name = here.spec.gpu.release
    theirs = here.snapshot.inventory.values.get(name, {})
    return Release(name, here.spec.gpu.namespace, CHART, merged(ours(CHART), computed(here), theirs), privileged=True)


def computed(here: View) -> dict[str, Any]:
    gpu = here.spec.gpu
    engine = {"dcgm": {"enabled": True}} if gpu.dcgm == "standalone" else {}
    return {
        "driver": driver(here),
        "devicePlugin": {"config": device_plugin(here)},
        **mig(here),
        **engine,
        "dcgmExporter": exporter(here),
    }


def exporter(here: View) -> dict[str, Any]:
    """The operator points the exporter at its own host engine (dcgm.enabled). For one of the host it needs the host's
    network: the operator gives it that for an address at localhost only where no `env` says it (NVIDIA/gpu-operator
    v26.7.0 controllers/object_controls.go, TransformDCGMExporter: `env` is set last)."""
    metrics, interval = here.spec.gpu.metrics, here.spec.gpu.metrics.interval
    return {
        "config": {"name": COUNTERS, "create": True, "data": own_and_more(here)},
        "env": [{"name": name, "value": value} for name, value in variables(here.spec).items()],
        **({"hostNetwork": True} if here.spec.gpu.dcgm == "host" else {}),
        **({"enablePodLabels": True, "podLabelAllowlistRegex": list(metrics.pod_labels)} if metrics.pod_labels else {}),
        **({"enablePodUID": True} if metrics.pod_uid else {}),
        "serviceMonitor": {
            "enabled": here.spec.monitoring.enabled and metrics.service_monitor == "operator",
            "interval": interval,
            "scrapeTimeout": patience(interval),
        },
    }


def driver(here: View) -> dict[str, Any]:
    """Off where every host with GPUs has its own."""
    if not drivers_in_containers(here):
        return {"enabled": False}
    module = here.spec.gpu.driver.kernel_module
    return {"enabled": True, "version": driver_version_of(here.spec), "kernelModuleType": module}


def mig(here: View) -> dict[str, Any]:
    """`mixed` as soon as one host's instances are not all alike: with the chart's `single` its plugin offers nothing.
    Then every host's instances are nvidia.com/mig-PROFILE, no more nvidia.com/gpu. Hosts may differ with both (GPU
    Operator documentation, gpu-operator-mig)."""
    layouts = [host.spec.gpustack_mig for host in here.hosts if host.spec.gpustack_mig]
    return {} if all(UNIFORM.fullmatch(layout) for layout in layouts) else {"mig": {"strategy": "mixed"}}


def drivers_in_containers(here: View) -> bool:
    """Whether some host with GPUs gets its driver from the operator. A host that cannot be asked keeps what it has: no
    driver is taken from under its pods because it is away for a moment."""
    if any(mode(here.on(host)) == "container" for host in expected(here)):
        return True
    if here.spec.gpu.driver.mode != "auto" or not silent(here):
        return False
    return any(name.startswith(DRIVER) for name in here[GPU_DAEMON_SETS])


def device_plugin(here: View) -> dict[str, Any]:
    """Its ConfigMap with one entry for each way of sharing that some host has; nodes choose theirs by a label."""
    ways = {sharing(here, host) for host in here.hosts} | {("none", 1)}
    if ways == {("none", 1)}:
        return {}
    data = {key(*way): plugin(*way) for way in sorted(ways)}
    return {"create": True, "name": SHARING, "default": WHOLE, "data": data}


def key(mode: str, replicas: int) -> str:
    """Name of a way of sharing: `none`, `time-slicing-4`. It is the value of the node's label."""
    return WHOLE if mode == "none" else f"{mode}-{replicas}"


def plugin(mode: str, replicas: int) -> str:
    """One configuration of the device plugin, as YAML (NVIDIA/k8s-device-plugin README, shared access to GPUs)."""
    import yaml

    document: dict[str, Any] = {"version": "v1"}
    if mode != "none":
        field = {"time-slicing": "timeSlicing", "mps": "mps"}[mode]
        document["sharing"] = {field: {"resources": [{"name": "nvidia.com/gpu", "replicas": replicas}]}}
    return yaml.safe_dump(document, sort_keys=False)
