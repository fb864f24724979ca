"""Kubelets that run while their node is not Ready: what they try again and again, in their own words."""

from collections.abc import Iterator
from dataclasses import replace

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubelet.errors import KUBELET_ERRORS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.steps.own_node import find_node


def observe_kubelet(view: View) -> Iterator[AbnormalState]:
    """Observe a running kubelet that logs errors, and whose node is not Ready or does not exist. One that does not run
    has a state of its own."""
    unit, errors, node = view[UNITS].get("kubelet"), view[KUBELET_ERRORS], find_node(view)
    if unit and unit.active and errors and not (node and node.ready):
        subject = f"node {node.name}, kubelet" if node else f"kubelet of {view.location}"
        message = node.reason if node else "it runs, and the API server has no node of this host"
        command = Command("journalctl", "-u", "kubelet", "--since", "-5min")
        state = AbnormalState("node-not-ready", "broken", (view.location,), (subject,), message, command)
        yield replace(state, last_lines=tuple(error.message for error in errors))


OBSERVERS = (
    Observer(
        "kubelet-errors", "Errors of kubelets", observe_kubelet, (UNITS, KUBELET_ERRORS, NODES, IDENTITY), scope="host"
    ),
)
