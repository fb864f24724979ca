"""Kubelets that run while their node is not Ready: what they try again and again, in their own words."""

import re
from collections.abc import Iterator
from dataclasses import replace

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import NODE_NOT_READY
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubelet.errors import KUBELET_ERRORS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.steps.own_node import find_node

DELETED_NODE = re.compile(r"error getting node .{1,300}: nodes .{1,300} not found")
"""The error that a kubelet logs about its deleted node each time that it is to update the status
(kubernetes/kubernetes issue 71398, pkg/kubelet/kubelet_node_status.go)."""


def observe_kubelet(view: View) -> Iterator[AbnormalState]:
    """Observe a running kubelet that logs errors, and whose node is not Ready or does not exist. One that does not run
    has a state of its own."""
    unit, errors, node = view[UNITS].get("kubelet"), view[KUBELET_ERRORS], find_node(view)
    if unit and unit.active and errors and not (node and node.ready):
        subject = f"node {node.name}, kubelet" if node else f"kubelet of {view.location}"
        message = node.reason if node else "it runs, and the API server has no node of this host"
        command = Command("journalctl", "-u", "kubelet", "--since", "-5min")
        if not node and any(DELETED_NODE.search(error.message) for error in errors):
            message = "it runs, and its node was deleted: it registers one only when it starts"
            command = Command("systemctl", "restart", "kubelet", note="on that host")
        state = AbnormalState("node-not-ready", "broken", (view.location,), (subject,), message, command)
        lines = tuple(error.message for error in errors)
        yield replace(state, last_lines=lines, symptom=NODE_NOT_READY if node else "")


OBSERVERS = (
    Observer(
        "kubelet-errors", "Errors of kubelets", observe_kubelet, (UNITS, KUBELET_ERRORS, NODES, IDENTITY), scope="host"
    ),
)
