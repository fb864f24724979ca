"""The values for the chart gpu-operator: gpustack's < those that follow from the spec and the hosts < the
operator's."""

import re
from typing import Any

from gpustack.ask.egress import LOGIN
from gpustack.ask.pod_egress import has_login, list_authorities, list_consumers, list_pod_variables
from gpustack.ask.view import View
from gpustack.config.resolution import resolve_driver_version
from gpustack.probes.gpu.cluster import GPU_DAEMON_SETS
from gpustack.steps.chart_values import merge_values, read_own_values
from gpustack.steps.gpu.exporter import COUNTERS, build_environment, format_scrape_timeout, render_counters
from gpustack.steps.gpu.hosts import count_host_gpus, list_silent_hosts, select_sharing
from gpustack.steps.gpu.mode import choose_driver_mode
from gpustack.steps.release import Release
from gpustack.steps.tolerations import build_tolerations, list_further_keys

CHART = "gpu-operator"
SHARING = "gpustack-device-plugin"
DRIVER = "nvidia-driver-daemonset"  # of a pool of nodes: with a suffix
NO_SHARING = "none"
# Layouts that leave all GPUs of a host alike, by the names of NVIDIA's MIG manager: all-disabled, all-1g.10gb,
# all-1g.20gb.me. Not all-balanced, and not all-enabled, which makes no instances.
UNIFORM_PROFILE = re.compile(r"all-(disabled|\d+g\..+)")


def needs_release(view: View) -> bool:
    """Tell whether a host has GPUs. Raise FactUnavailable where that is unknown."""
    return view.spec.gpu.stack == "operator" and bool(count_host_gpus(view))


def build_release(view: View) -> Release:
    """Build the release of the GPU Operator. Raise FactUnavailable where it is unknown who installs the drivers."""
    name = view.spec.gpu.release
    operator_values = view.snapshot.inventory.values.get(name, {})
    return Release(
        name,
        view.spec.gpu.namespace,
        CHART,
        merge_values(read_own_values(CHART), compute_values(view), operator_values),
        privileged=True,
    )


def compute_values(view: View) -> dict[str, Any]:
    gpu = view.spec.gpu
    engine = {"dcgm": {"enabled": True}} if gpu.dcgm == "standalone" else {}
    return {
        "driver": build_driver_values(view),
        "devicePlugin": {"config": build_plugin_values(view)},
        **build_mig_values(view),
        **build_taint_values(view),
        **engine,
        "dcgmExporter": build_exporter_values(view),
    }


def build_exporter_values(view: View) -> dict[str, Any]:
    """Build the values of the exporter. The operator points it at its own host engine (dcgm.enabled). For one of the
    host it needs the host's network: the operator gives it that for an address at localhost only where no `env` says it
    (NVIDIA/gpu-operator v26.7.0 controllers/object_controls.go, TransformDCGMExporter: `env` is set last)."""
    metrics, interval = view.spec.gpu.metrics, view.spec.gpu.metrics.interval
    return {
        "config": {"name": COUNTERS, "create": True, "data": render_counters(view)},
        "env": [{"name": name, "value": value} for name, value in build_environment(view.spec).items()],
        **({"hostNetwork": True} if view.spec.gpu.dcgm == "host" else {}),
        **({"hostPID": True} if metrics.shared_gpus else {}),
        **({"enablePodLabels": True, "podLabelAllowlistRegex": list(metrics.pod_labels)} if metrics.pod_labels else {}),
        **({"enablePodUID": True} if metrics.pod_uid else {}),
        "serviceMonitor": {
            "enabled": view.spec.monitoring.enabled and metrics.service_monitor == "operator",
            "interval": interval,
            "scrapeTimeout": format_scrape_timeout(interval),
        },
    }


def build_driver_values(view: View) -> dict[str, Any]:
    """Build the values of the driver, which is off where every host with GPUs has its own."""
    if not uses_driver_containers(view):
        return {"enabled": False}
    module = view.spec.gpu.driver.kernel_module
    return {
        "enabled": True,
        "version": resolve_driver_version(view.spec),
        "kernelModuleType": module,
        **build_driver_egress(view),
    }


def build_driver_egress(view: View) -> dict[str, Any]:
    """Build how the driver container leaves the cluster, where apt in it installs the headers of the kernel: variables
    without a login, the Secret with those that have one, the ConfigMap whose keys are files that
    update-ca-certificates reads there, and that whose keys are files of /etc/apt/sources.list.d (NVIDIA/gpu-operator
    v26.7.0, controllers/object_controls.go, transformDriverContainer, CertConfigPathMap and RepoConfigPathMap)."""
    spec = view.spec
    consumer, variables = list_consumers(spec)["gpu-operator"], list_pod_variables(view.snapshot.inventory)
    env = [{"name": name, "value": value} for name, value in variables.items() if LOGIN not in value]
    return {
        **({"env": env} if env else {}),
        **({"secretEnv": consumer.login_name} if has_login(spec) else {}),
        **({"certConfig": {"name": consumer.authority_name}} if list_authorities(spec) else {}),
        **({"repoConfig": {"configMapName": consumer.sources_name}} if spec.gpu.driver.repo_config else {}),
    }


def build_mig_values(view: View) -> dict[str, Any]:
    """Build the MIG strategy: `mixed` as soon as one host's instances are not all alike, because with the chart's
    `single` its plugin offers nothing. Then every host's instances are nvidia.com/mig-PROFILE, no more nvidia.com/gpu.
    Hosts may differ with both (GPU Operator documentation, gpu-operator-mig)."""
    layouts = [host.spec.gpustack_mig for host in view.hosts if host.spec.gpustack_mig]
    return {} if all(UNIFORM_PROFILE.fullmatch(layout) for layout in layouts) else {"mig": {"strategy": "mixed"}}


def build_taint_values(view: View) -> dict[str, Any]:
    """Build the tolerations of the operator, its operands and Node Feature Discovery, where the inventory has taints or
    the spec a gate: without them the GPUs of a node would leave the cluster when their pods are made anew."""
    if not list_further_keys(view):
        return {}
    tolerations = {"tolerations": build_tolerations(view)}
    discovery = dict.fromkeys(("master", "worker", "gc"), tolerations)
    return {"daemonsets": tolerations, "operator": tolerations, "node-feature-discovery": discovery}


def uses_driver_containers(view: View) -> bool:
    """Tell whether some host with GPUs gets its driver from the operator. A host that cannot be asked keeps what it
    has: no driver is taken from under its pods because it is away for a moment."""
    if any(choose_driver_mode(view.select_host(host)) == "container" for host in count_host_gpus(view)):
        return True
    if view.spec.gpu.driver.mode != "auto" or not list_silent_hosts(view):
        return False
    return any(name.startswith(DRIVER) for name in view[GPU_DAEMON_SETS])


def build_plugin_values(view: View) -> dict[str, Any]:
    """Build the ConfigMap of the device plugin, with one entry for each way of sharing that some host has; a label of
    the node selects the entry."""
    sharings = {select_sharing(view, host) for host in view.hosts} | {("none", 1)}
    if sharings == {("none", 1)}:
        return {}
    data = {format_sharing(*sharing): render_plugin_config(*sharing) for sharing in sorted(sharings)}
    return {"create": True, "name": SHARING, "default": NO_SHARING, "data": data}


def format_sharing(mode: str, replicas: int) -> str:
    """Format the name of a way of sharing: `none`, `time-slicing-4`. It is the value of the node's label."""
    return NO_SHARING if mode == "none" else f"{mode}-{replicas}"


def render_plugin_config(mode: str, replicas: int) -> str:
    """Render one configuration of the device plugin, as YAML (NVIDIA/k8s-device-plugin README, shared access to
    GPUs)."""
    import yaml

    document: dict[str, Any] = {"version": "v1"}
    if mode != "none":
        field = {"time-slicing": "timeSlicing", "mps": "mps"}[mode]
        document["sharing"] = {field: {"resources": [{"name": "nvidia.com/gpu", "replicas": replicas}]}}
    return yaml.safe_dump(document, sort_keys=False)
