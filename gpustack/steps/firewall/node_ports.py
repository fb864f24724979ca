"""Check of the table that restricts NodePorts of Services on hosts whose firewall denies by default.

kube-proxy gives a packet to a NodePort the address of a pod before any filter sees it, and what is sent to pods is
forwarded, by kube-proxy's and flannel's rules, by gpustack's, and in firewalld by its own rule for translated packets.
So a rule for the port in a host's firewall never meets such a packet, whatever manages that firewall. The table asks
the kernel's connection tracking for the port that the packet was sent to.
"""

from typing import Any

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.probes.firewall.guard import NODE_PORTS_GUARD, list_loaded_service_passes
from gpustack.probes.firewall.live_rules import FIREWALL, STORED_RULES
from gpustack.steps.firewall.flows import list_service_rules
from gpustack.steps.firewall.guard import describe_table_drift, is_loaded
from gpustack.steps.firewall.packets import detect_manager, list_host_flows


def node_ports_are_restricted(view: View) -> Result | None:
    """NodePorts of Services let in only nodes, pods and firewall.sources, on a host whose firewall denies by default:
    gpustack's table for them is loaded, is restored at boot, and matches this cluster."""
    state = choose_node_ports_state(view)
    if not state:
        return None
    live_passes, stored_passes = list_loaded_service_passes(view[FIREWALL].filter), view[STORED_RULES].node_ports
    differences = describe_table_drift(
        view, list_clients(view) if state == "present" else frozenset(), live_passes, stored_passes
    )
    if not differences:
        return None
    expected = "open only to nodes, pods and firewall.sources" if state == "present" else "open to anybody"
    is_open = state == "present" and not live_passes
    return Result("NodePorts of Services", expected, "open to anybody" if is_open else differences)


def choose_node_ports_state(view: View) -> str:
    """Choose the state that the role sets for the table: present, absent, or unchanged if gpustack does not decide. An
    existing table stays while its firewall is off."""
    if not view.spec.firewall.manage:
        return ""
    is_needed = list_clients(view) and (has_table(view) or detect_manager(view) != "none")
    return "present" if is_needed else "absent"


def list_clients(view: View) -> frozenset[str]:
    """List the clients to let in; none where anybody may come in."""
    return view.compute_once(compute_clients, list_host_flows(view))


def compute_clients(_: View, flows: list[dict[str, Any]]) -> frozenset[str]:
    return list_service_rules(flows)


def has_table(view: View) -> bool:
    return bool(view[STORED_RULES].node_ports) or is_loaded(view, NODE_PORTS_GUARD)
