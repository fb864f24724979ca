"""A sentence of the plan: who may connect from outside the cluster to a control plane that has a firewall."""

from contextlib import suppress

from gpustack.ask.judge import format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.endpoint import API_PORT
from gpustack.probes.firewall.live_rules import FIREWALL
from gpustack.steps.firewall.flows import NODE_PORTS
from gpustack.steps.firewall.packets import detect_manager, is_persistent, list_controllers, uses_node_ports


def describe_clients(snapshot: Snapshot) -> str:
    """Describe the clients that gpustack's rules let in. Return an empty text where no control plane has a firewall
    that gpustack adds rules to, or where it is unknown."""
    if not snapshot.inventory.spec.firewall.manage:
        return ""
    for host in snapshot.inventory.control_planes:
        with suppress(FactUnavailable):
            view = View(snapshot, host.name)
            manager = detect_manager(view)
            if manager != "none" and is_persistent(view[FIREWALL], manager):
                return describe_clients_of(view)
    return ""


def describe_clients_of(view: View) -> str:
    sources = view.spec.firewall.sources
    clients = list_controllers(view) if sources is None else [str(network) for network in sources]
    who = format_value(clients) if clients else "nobody else"
    api = f"Firewall: the API ({API_PORT}) of {view.location} lets in nodes, pods and {who}"
    if not sources:
        return f"{api}; NodePorts ({NODE_PORTS}) let nobody in: firewall.sources changes it."
    ports = f"let in {who}" if uses_node_ports(view) else "have no Service"
    return f"{api}; NodePorts ({NODE_PORTS}) {ports}."
