"""Clients outside the cluster of a control plane that has a firewall: who may connect, and whether that is known."""

from contextlib import suppress

from gpustack.ask.addresses import is_address
from gpustack.ask.judge import Result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Prose
from gpustack.config.endpoint import API_PORT, extract_name
from gpustack.probes.firewall.live_rules import FIREWALL
from gpustack.probes.network.endpoint_name import ENDPOINT_ADDRESSES
from gpustack.steps.firewall.flows import NODE_PORTS
from gpustack.steps.firewall.packets import detect_manager, is_persistent, list_controllers


def load_balancer_is_let_in(view: View) -> Result | None:
    """The load balancer of the API, if kubernetes.endpoint is no address of the control plane, is in firewall.sources:
    every node reaches the API through it, and it connects from addresses that only you know."""
    manager, endpoint = detect_manager(view), view.spec.kubernetes.endpoint
    if manager == "none" or not (view.spec.firewall.manage and endpoint and view.host.control_plane):
        return None
    if view.spec.firewall.sources is not None:
        return None
    own_addresses, name = view[FIREWALL].interfaces, extract_name(endpoint)
    endpoint_addresses = (name,) if is_address(name) else view[ENDPOINT_ADDRESSES]
    if endpoint_addresses and all(address in own_addresses for address in endpoint_addresses):
        return None
    actual = f"not set, with the endpoint {endpoint}"
    hint = Prose("set firewall.sources to the networks of the load balancer and of administrators")
    return Result("firewall.sources", "the load balancer of the API", actual, "operator", hint=hint)


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
    client_names = format_value(clients) if clients else "nobody else"
    api = f"Firewall: the API ({API_PORT}) of {view.location} lets in nodes, pods and {client_names}"
    return f"{api}; NodePorts ({NODE_PORTS}) let in nodes, pods and {client_names if sources else 'nobody else'}."
