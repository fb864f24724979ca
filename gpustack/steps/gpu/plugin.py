"""GPUs in the cluster without an operator: NVIDIA's device plugin and DCGM exporter, as DaemonSets of gpustack.

For `gpu.stack: host`, if operators are not allowed; if no host has GPUs, this step does nothing. It labels nodes with
GPUs with nvidia.com/gpu.present=true, and installs the RuntimeClass nvidia, one DaemonSet of the device plugin for each
sharing mode in the inventory (a node's label nvidia.com/device-plugin.config selects it), and the exporter with its
Service. Pods get their GPUs by CDI: they need no RuntimeClass, only a limit of nvidia.com/gpu.

Not available without the operator: drivers in containers, GPU feature discovery (nodes have no labels for model or
memory), the MIG manager, MPS. Changing a cluster from one stack to the other is manual: while the operator's release is
installed, this step stops and reports it, and vice versa.

A GPU with a fatal Xid is no longer allocatable, and the device plugin never restores it by itself: see `gpustack
explain gpu-plugin/allocatable`.

Not yet tested on hardware: it was run with the real device plugin, a simulated exporter and simulated GPUs.

Settings: gpu, gpustack_gpus. Sources: NVIDIA/k8s-device-plugin and NVIDIA/dcgm-exporter, README and deployments;
Kubernetes device plugins and RuntimeClass.
"""

from collections.abc import Collection
from typing import Any

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.probes.gpu.cluster import CLUSTER_POLICIES, GPU_DAEMON_SETS, GPU_NODES, STRANDED_PODS
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER, GPU_SMI
from gpustack.probes.gpu.host_engines import HOST_ENGINES
from gpustack.probes.gpu.packages import GPU_PACKAGES
from gpustack.probes.gpu.quotas import GPU_QUOTAS
from gpustack.probes.helm import RELEASES
from gpustack.probes.host.system import IDENTITY, OS
from gpustack.probes.kubernetes.applied_objects import CONFIG_MAPS, DAEMON_SETS, RUNTIME_CLASSES, SERVICES
from gpustack.probes.kubernetes.namespaces import NAMESPACES
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.applied_objects import find_object_mismatch
from gpustack.steps.gpu import plugin_objects as gpu_plugin_objects
from gpustack.steps.gpu.count import list_gpus
from gpustack.steps.gpu.host_engines import engine_pair, host_engine
from gpustack.steps.gpu.hosts import (
    PRESENCE_LABEL,
    build_hosts_result,
    count_host_gpus,
    count_shared_gpus,
    find_allocatable_mismatch,
    find_unlabelled_hosts,
    find_writable_node,
    gpus_on_bus,
    map_gpu_nodes,
    map_writable_nodes,
    namespace,
    select_sharing,
)  # fmt: skip
from gpustack.steps.gpu.operator_values import NO_SHARING, format_sharing
from gpustack.steps.gpu.plugin_objects import EXPORTER, NAME_PREFIX, PLUGIN_LABEL, build_objects, map_plugins
from gpustack.steps.step import Step, check_where

# By kind: which objects of gpustack exist, as they were applied.
PROBES = {"ConfigMap": CONFIG_MAPS, "DaemonSet": DAEMON_SETS, "Service": SERVICES, "RuntimeClass": RUNTIME_CLASSES}


def build_variables(view: View) -> dict[str, Any]:
    """Build what the role reads: `objects` to apply; `labels` as lines `NODE LABEL VALUE`, where the value `-` is none;
    `daemon_sets` are the names of gpustack's that stay."""
    if view.spec.gpu.stack != "host":
        return {"objects": [], "labels": [], "daemon_sets": []}
    objects = gpu_plugin_objects.build_all_objects(view) if count_host_gpus(view) else []
    names = [document["metadata"]["name"] for document in objects if document["kind"] == "DaemonSet"]
    return {"objects": objects, "labels": [*list_node_labels(view), *list_stale_labels(view)], "daemon_sets": names}


def list_node_labels(view: View) -> list[str]:
    label_lines: list[str] = []
    for host, node in map_writable_nodes(view).items():
        sharing_name = format_sharing(*select_sharing(view, view.select_host(host).host))
        label_lines += [
            f"{node.name} {PRESENCE_LABEL} true",
            f"{node.name} {PLUGIN_LABEL} {'-' if sharing_name == NO_SHARING else sharing_name}",
        ]
    return label_lines


def list_stale_labels(view: View) -> list[str]:
    """List labels to remove: those of nodes whose hosts say that they have no GPU. A plugin there could not start."""
    labels = {node.name: node.labels for node in view[GPU_NODES]}
    label_lines = []
    for host in view.hosts:
        host_view = view.select_host(host.name)
        if (
            host_view.reached
            and host_view.has_fact(GPU_DEVICES)
            and not list_gpus(host_view)
            and host_view.has_fact(IDENTITY)
        ):
            name = find_writable_node(view, host.name)
            if PRESENCE_LABEL in labels.get(name, {}):
                label_lines.append(f"{name} {PRESENCE_LABEL} -")
    return label_lines


def operators_stack(view: View) -> Result | None:
    """NVIDIA's operator is not installed as well: each GPU would be offered and measured twice."""
    spec = view.spec.gpu
    operator_objects = [
        f"release {release.namespace}/{release.name}" for release in view[RELEASES] if release.name == spec.release
    ]
    operator_objects += [f"ClusterPolicy {policy.name}" for policy in view[CLUSTER_POLICIES] or ()]
    if not operator_objects:
        return None
    hint = Prose(
        "{}, by /usr/local/lib/gpustack/helm; pods that use GPUs end before",
        Command("helm", "uninstall", spec.release, "-n", spec.namespace),
        note="or keep it: gpu.stack: operator in the spec",
    )
    return Result(
        "GPU operator beside gpu.stack host", "none", format_value(operator_objects), cure="operator", hint=hint
    )


def sharing_supported(view: View) -> Result | None:
    """The sharing modes in the inventory work without the operator: time-slicing, but neither MPS nor a MIG layout."""
    actual_states = {}
    for host in view.hosts:
        if host.name not in count_host_gpus(view):
            continue
        if host.spec.gpustack_mig:
            actual_states[host.name] = f"gpustack_mig: {host.spec.gpustack_mig}"
        elif select_sharing(view, host)[0] == "mps":
            actual_states[host.name] = "mps"
    hint = Prose("time-slicing, or gpu.stack: operator in the spec")
    return build_hosts_result("sharing without an operator", "none or time-slicing", actual_states, "operator", hint)


def objects_applied(view: View) -> Result | None:
    """The objects exist and match this release and the spec."""
    for kind, probe in PROBES.items():
        objects = [document for document in build_objects(view) if document["kind"] == kind]
        if result := find_object_mismatch(f"{kind}s", objects, view[probe]):
            return result
    return None


def stale_daemon_sets(view: View) -> Result | None:
    """The cluster has no DaemonSet of gpustack left from another sharing mode."""
    names = {*map_plugins(view), EXPORTER}
    stale_names = [name for name in view[GPU_DAEMON_SETS] if name.startswith(NAME_PREFIX) and name not in names]
    if stale_names:
        return Result("DaemonSets of gpustack", format_value(names), f"also {format_value(stale_names)}")
    return None


def labels(view: View) -> Result | None:
    """Nodes of hosts with GPUs are labelled with that and with their sharing mode; nodes of other hosts are not."""
    unlabelled_hosts = find_unlabelled_hosts(view)
    for host, node in map_writable_nodes(view).items():
        expected_sharing, actual_sharing = (
            format_sharing(*select_sharing(view, view.select_host(host).host)),
            node.labels.get(PLUGIN_LABEL, NO_SHARING),
        )
        if actual_sharing != expected_sharing:
            unlabelled_hosts.setdefault(host, f"{PLUGIN_LABEL}={actual_sharing} instead of {expected_sharing}")
    unlabelled_hosts |= {line.split()[0]: "labelled, but without GPUs" for line in list_stale_labels(view)}
    return build_hosts_result("labels of nodes", f"{PRESENCE_LABEL}=true on nodes with GPUs", unlabelled_hosts)


def daemon_sets(view: View) -> Result | None:
    """The device plugin and the exporter, with gpu.dcgm: standalone its host engine too, run on every GPU node."""
    count, workloads = len(map_gpu_nodes(view)), view[GPU_DAEMON_SETS]
    failures = []
    names_by_subject: tuple[tuple[str, Collection[str]], ...] = (
        ("device plugin", map_plugins(view)),
        ("exporter", (EXPORTER,)),
    )
    for subject, names in names_by_subject:
        plugin_workloads = [workloads[name] for name in names if name in workloads]
        ready = sum(workload.ready for workload in plugin_workloads)
        if (
            len(plugin_workloads) < len(names)
            or ready < count
            or not all(workload.runs for workload in plugin_workloads)
        ):
            failures.append(f"{subject} on {ready} of {count}")
    return Result("DaemonSets", "ready on every GPU node", "; ".join(failures), passing=True) if failures else None


def allocatable(view: View) -> Result | None:
    """The nodes each have as many allocatable GPUs as their host has for Kubernetes, times the pods that share one.

    A GPU that a node has and cannot allocate was marked unhealthy by the device plugin, after an Xid: find it
    (`journalctl -k | grep NVRM`), fix it, then delete the node's pod of gpustack-device-plugin. With time-slicing an
    Xid removes one replica only; the other replicas of a dead GPU stay.
    """
    return find_allocatable_mismatch(view, "gpu-plugin", map_plugins(view), count_shared_gpus(view))


STEP = Step(
    "gpu-plugin",
    scope="cluster",
    probes=(
        *PROBES.values(), RELEASES, CLUSTER_POLICIES, NAMESPACES, GPU_NODES, NODES, ADDRESS, GPU_DAEMON_SETS, IDENTITY,
        GPU_DEVICES, OS, GPU_PACKAGES, GPU_DRIVER, GPU_SMI, STRANDED_PODS, HOST_ENGINES, GPU_QUOTAS,
    ),
    checks=(
        *check_where(
            count_host_gpus,
            operators_stack, namespace, gpus_on_bus, host_engine, engine_pair, sharing_supported, objects_applied,
            stale_daemon_sets,
        ),
        labels,  # also where no host has a GPU any more
        *check_where(count_host_gpus, daemon_sets, allocatable),
    ),
    needs=("flannel", "workers", "gpu-runtime"),
    settle_seconds=180,
    pulls=True,
    is_enabled=lambda inventory: inventory.spec.gpu.stack == "host",
    interrupts="the device plugin is made anew; new pods with GPUs wait for it",
)  # fmt: skip
