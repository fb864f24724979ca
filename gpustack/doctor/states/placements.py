"""DaemonSets that each node needs, and nodes on which they have no pod: a node selector, an affinity or a taint
excludes them. Their controllers count no such node, so that they miss nothing by themselves."""

from collections.abc import Iterator, Mapping

from gpustack.ask.judge import format_value
from gpustack.ask.probe import Probe
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.ownership import is_platform_label_set
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.kubernetes.nodes import NODES, Node
from gpustack.probes.kubernetes.pod_states import FLANNEL_PODS, MONITORING_PODS, SYSTEM_PODS, PodState
from gpustack.probes.kubernetes.workloads import (
    FLANNEL_DAEMON_SETS,
    MONITORING_DAEMON_SETS,
    SYSTEM_DAEMON_SETS,
    Workload,
)

NETWORK = "kube-flannel"
"""The namespace of the DaemonSet without which the pods of a node reach nobody."""
Workloads = Mapping[str, Workload]
Pods = tuple[PodState, ...]


def build_observer(namespace: str, sets: Probe[Workloads], pods: Probe[Pods], *, monitored: bool = False) -> Observer:
    def observe_placements(view: View) -> Iterator[AbnormalState]:
        own_namespace = view.spec.monitoring.namespace if monitored else namespace
        for name, workload in view[sets].items():
            if not is_platform_label_set(view.spec, own_namespace, workload.labels):
                continue
            if workload.desired_pods < len(view[NODES]):
                yield from list_states(view, own_namespace, name, workload, view[pods])

    return Observer(
        f"placements-of-{sets.id.replace('.', '-')}",
        f"Nodes of the DaemonSets in {namespace}",
        observe_placements,
        (NODES, sets, pods),
        is_needed=lambda spec: not monitored or spec.monitoring.enabled,
    )


def list_states(view: View, namespace: str, name: str, workload: Workload, pods: Pods) -> Iterator[AbnormalState]:
    """List the nodes that a DaemonSet leaves out, those with the same taints as one."""
    covered_nodes = {pod.node for pod in pods if pod.owner == f"DaemonSet/{name}"}
    severity: Severity = "broken" if namespace == NETWORK else "risk"
    for node in view[NODES]:
        if node.name not in covered_nodes:
            message = f"its controller counts no pod for the node: {describe_exclusion(workload, node)}"
            command = Command("kubectl", "-n", namespace, "get", "daemonset", name, "-o", "yaml")
            yield AbnormalState(
                "node-uncovered",
                severity,
                (locate_node(view, node.name),),
                (f"daemonset {namespace}/{name}",),
                message,
                command,
            )


def describe_exclusion(workload: Workload, node: Node) -> str:
    """Describe what may exclude a node. A node selector that fits no node is the reason, whatever taints they have."""
    selector = format_value([f"{label}={value}" for label, value in workload.node_selector.items()])
    reasons = [f"the DaemonSet has the nodeSelector {selector}"] * bool(workload.node_selector)
    if node.taints and (workload.desired_pods or not reasons):
        reasons.append(f"the node has {format_value(node.taints)}")
    return "; ".join(reasons) or "an affinity of the DaemonSet excludes it"


OBSERVERS = (
    build_observer(NETWORK, FLANNEL_DAEMON_SETS, FLANNEL_PODS),
    build_observer("kube-system", SYSTEM_DAEMON_SETS, SYSTEM_PODS),
    build_observer("the namespace of monitoring", MONITORING_DAEMON_SETS, MONITORING_PODS, monitored=True),
)
