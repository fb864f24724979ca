"""Pods of the GPU operator that its programs or its own status explain: errors in the log of a container that is not
ready, a device plugin that registered nothing, nodes with GPUs that no DaemonSet covers, and a ClusterPolicy that is
ready for another reason than usual."""

from collections import Counter
from collections.abc import Iterator

from gpustack.ask.judge import format_value
from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.checks.gpu.driver import find_gpu_node
from gpustack.doctor.checks.gpu.operator import list_node_pods
from gpustack.doctor.checks.node_lookup import list_node_entries
from gpustack.doctor.checks.startup import is_new
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.ownership import is_platform_pod
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.gpu.cluster import CLUSTER_POLICIES, GPU_DAEMON_SETS, GPU_NODES
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.logs import LOGS
from gpustack.probes.gpu.plugin_files import PLUGIN_FILES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.container_logs import ContainerLog
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS, PodState
from gpustack.steps.gpu.count import list_gpus

PLUGIN = "device-plugin"
USUAL_REASON = "Reconciled"
"""The reason of the condition Ready of a ClusterPolicy that did its work (gpu-operator internal/conditions)."""
READY_STATE = "ready"
DAEMON_SET = "DaemonSet/"


def observe_logs(view: View) -> Iterator[AbnormalState]:
    """List the errors in the logs of containers that are not ready. While a container starts, it may pass."""
    pods = {pod.name: pod for pod in view[GPU_PODS]}
    lines: dict[tuple[str, str], list[str]] = {}
    for line in view[LOGS]:
        lines.setdefault((line.pod, line.container), []).append(line.line)
    for (name, container), errors in lines.items():
        pod = pods.get(name)
        if pod and not pod.ready and not pod.deleted and not is_container_ready(pod, container):
            severity: Severity = "risk" if is_platform_pod(view, pod) else "note"
            command = Command("kubectl", "-n", pod.namespace, "logs", pod.name, "-c", container)
            yield AbnormalState(
                "container-log", severity, (view.location,), (f"pod {pod}, container {container}",), errors[-1],
                command, members=(f"pod {pod}",),
            )  # fmt: skip


def observe_registrations(view: View) -> Iterator[AbnormalState]:
    """Report a device plugin that runs and has registered nothing with the kubelet, on a node with GPUs that offers
    none. Its pod is ready all the same, and its log says what it waits for."""
    files, node = view[PLUGIN_FILES], find_gpu_node(view)
    if files is None or files.plugin or node is None or node.offers_gpus or not list_gpus(view):
        return
    for pod in list_node_pods(view, PLUGIN):
        names = [container.name for container in pod.containers if container.name.startswith(f"nvidia-{PLUGIN}")]
        if not pod.ready or pod.deleted or is_new(view, pod) or not names:
            continue
        yield AbnormalState(
            "container-log", "broken", (view.location,), (f"pod {pod}, container {names[0]}",),
            "it runs, and has registered no device with the kubelet",
            Command("kubectl", "-n", pod.namespace, "logs", pod.name, "-c", names[0]),
            log=ContainerLog(pod.namespace, pod.name, names[0], previous=False), members=(f"pod {pod}",),
            symptom="st-device-plugin-down",
        )  # fmt: skip


def is_container_ready(pod: PodState, name: str) -> bool:
    return any(container.name == name and container.ready for container in pod.containers)


def observe_coverage(view: View) -> Iterator[AbnormalState]:
    """List nodes that offer no GPU although their host has some, and the DaemonSets that have a pod on each other such
    node and none there. A DaemonSet makes no pod where its node selector, its affinity or a taint excludes the node.
    One that has yet to make pods excludes no node."""
    hosts_with_gpus = {
        host.name
        for host in view.hosts
        if (host_view := view.select_host(host.name)).has_fact(GPU_DEVICES) and host_view[GPU_DEVICES]
    }
    nodes = {node.name: node for node in view[GPU_NODES] if locate_node(view, node.name) in hosts_with_gpus}
    owners_by_node = {
        name: {pod.owner for pod in list_node_entries(view, GPU_PODS, name) if pod.owner.startswith(DAEMON_SET)}
        for name in nodes
    }
    counts = Counter(owner for owners in owners_by_node.values() for owner in owners)
    sets = view[GPU_DAEMON_SETS] if view.has_fact(GPU_DAEMON_SETS) else {}
    incomplete_sets = {f"{DAEMON_SET}{name}" for name, entry in sets.items() if entry.created_pods < entry.desired_pods}
    common_sets = {owner for owner, count in counts.items() if count == len(nodes) - 1} - incomplete_sets
    for name, node in nodes.items():
        missing_sets = common_sets - owners_by_node[name]
        if not node.offers_gpus and missing_sets:
            names = format_value(sorted(owner.removeprefix(DAEMON_SET) for owner in missing_sets))
            message = f"it has no pod of {names}: their node selector, affinity or a taint of the node excludes it"
            command = Command("kubectl", "-n", view.spec.gpu.namespace, "get", "daemonsets", "-o", "wide")
            yield AbnormalState(
                "node-uncovered", "note", (locate_node(view, name),), (f"node {name}",), message, command
            )


def observe_policies(view: View) -> Iterator[AbnormalState]:
    """List ClusterPolicies that are ready and say another reason than usual. Those that are not differ from the
    spec."""
    for policy in view[CLUSTER_POLICIES] or ():
        if policy.state == READY_STATE and policy.reason not in ("", USUAL_REASON):
            message = f"{policy.reason}: {policy.message}"
            command = Command("kubectl", "describe", "clusterpolicy", policy.name)
            yield AbnormalState(
                "policy-condition", "note", (CLUSTER,), (f"clusterpolicy {policy.name}",), message, command
            )


OBSERVERS = (
    Observer(
        "registrations", "Registration of the device plugin", observe_registrations,
        (PLUGIN_FILES, GPU_PODS, GPU_NODES, GPU_DEVICES, NODES, IDENTITY), "host",
    ),
    Observer("container-logs", "Logs of the GPU operator's pods", observe_logs, (LOGS, GPU_PODS), "host", yields=True),
    Observer(
        "coverage", "DaemonSets on nodes with GPUs", observe_coverage,
        (GPU_NODES, GPU_PODS, GPU_DAEMON_SETS, GPU_DEVICES, NODES, IDENTITY), yields=True,
    ),
    Observer("policies", "ClusterPolicies", observe_policies, (CLUSTER_POLICIES,), yields=True),
)  # fmt: skip
