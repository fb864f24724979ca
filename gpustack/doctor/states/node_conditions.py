"""Conditions of nodes that should not hold, and nodes that no host of the inventory has.

Whether the node of a host is Ready is a state of the catalogue. Conditions of the kubelet and of the network:
https://kubernetes.io/docs/reference/node/node-status/#condition. Others are set by programs such as
node-problem-detector, which means by True that something is wrong.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.state import AbnormalState, Kind, Observer, Severity
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES, Node, NodeCondition
from gpustack.probes.kubernetes.warning_events import NODE_LOSSES

NODE_CONDITIONS = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
"""Conditions with which a node accepts no more pods, or ends some."""
MANY_LOSSES = 3
"""The losses of a node within an hour from which on it comes and goes: a reboot is one."""
RECENT_TIME = timedelta(minutes=10)
GOOD_ENDINGS = ("Ready", "Healthy", "Available", "Voter")
"""The endings of conditions of others by which True means that all is well."""


def observe_conditions(view: View) -> Iterator[AbnormalState]:
    for node in view[NODES]:
        for condition in node.conditions:
            if severity := judge_condition(condition):
                message = f"{condition.kind}={condition.status}: {condition.message}"
                yield build_state(view, node, "node-condition", severity, message, condition.onset)


def judge_condition(condition: NodeCondition) -> Severity | None:
    """Judge a condition; None for one that is as it should be, or that is unknown because the kubelet is silent."""
    if condition.kind in NODE_CONDITIONS:
        return "broken" if condition.status == "True" else None
    is_good = condition.kind.endswith(GOOD_ENDINGS)
    return "note" if condition.status == ("False" if is_good else "True") else None


def observe_unlisted_nodes(view: View) -> Iterator[AbnormalState]:
    """List nodes of no host. Where the machine-id of a host is unknown, any node may be its own."""
    if not all(view.select_host(host.name).has_fact(IDENTITY) for host in view.hosts):
        return
    for node in view[NODES]:
        if locate_node(view, node.name) == CLUSTER:
            reason = f", and it is not Ready: {node.reason}" if not node.ready else ""
            message = f"no host of the inventory has this node, so that nothing was asked there{reason}"
            yield build_state(view, node, "node-unlisted", "note" if node.ready else "risk", message, None)


def observe_ranges(view: View) -> Iterator[AbnormalState]:
    """List nodes without addresses for pods where others have some. A network that assigns addresses itself has none in
    any node."""
    nodes = view[NODES]
    for node in nodes:
        if not node.pod_cidr and any(peer.pod_cidr for peer in nodes):
            message = "it has no podCIDR, so that its pods get no addresses; others have one"
            yield build_state(view, node, "node-without-range", "broken", message, None)


def observe_losses(view: View) -> Iterator[AbnormalState]:
    """List nodes that come and go, the last time a short time ago. One that is away now is another state."""
    nodes = {node.name: node for node in view[NODES]}
    for event in view[NODE_LOSSES]:
        node = nodes.get(event.name)
        is_recent = event.last_at is not None and view.started_at - event.last_at < RECENT_TIME
        if node and is_recent and event.count >= MANY_LOSSES:
            message = "it was NotReady again and again: its Lease was renewed too late for the controller manager"
            state = build_state(view, node, "node-condition", "broken", message, event.first_at)
            yield replace(state, count=event.count)


def build_state(
    view: View, node: Node, kind: Kind, severity: Severity, message: str, onset: datetime | None
) -> AbnormalState:
    command = Command("kubectl", "describe", "node", node.name)
    return AbnormalState(
        kind, severity, (locate_node(view, node.name),), (f"node {node.name}",), message, command, onset
    )


OBSERVERS = (
    Observer("node-conditions", "Conditions of nodes", observe_conditions, (NODES,)),
    Observer("unlisted-nodes", "Nodes of no host", observe_unlisted_nodes, (NODES, IDENTITY)),
    Observer("node-ranges", "Addresses for the pods of nodes", observe_ranges, (NODES,)),
)
LOSS_OBSERVERS = (Observer("node-losses", "Nodes that come and go", observe_losses, (NODES, NODE_LOSSES)),)
