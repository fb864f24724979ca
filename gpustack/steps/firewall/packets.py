"""The packets that a cluster depends on, the rule of a host that blocks each of them, and the cures."""

import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from gpustack.ask.judge import Cure, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.config.addresses import is_ipv4_address
from gpustack.config.endpoint import API_PORT
from gpustack.config.host import CONTROL_PLANE, NODE
from gpustack.probes.firewall.live_rules import FIREWALL, Firewall
from gpustack.probes.firewall.packet_filter import (
    Base,
    Packet,
    Stop,
    contains_address,
    find_stop,
    list_networks,
    list_passes,
)
from gpustack.probes.network.addresses import ADDRESS
from gpustack.probes.network.controller import CONTROLLER
from gpustack.probes.proof import SERVICES
from gpustack.steps.firewall.flows import (
    ANY_NETWORK,
    NODE_PORTS,
    build_controller_entries,
    build_flow_entries,
    list_node_addresses,
    list_rules,
)
from gpustack.steps.node_address import KEY, find_node_address, is_unconfirmed
from gpustack.steps.other_cluster import is_member

# TEST-NET-1 (RFC 5737) and the discard port: nobody has a reason to let this in.
UNUSED_ADDRESS, DISCARD = "192.0.2.77", 9
KUBELET_PORT = 10250
BRIDGE, OVERLAY = "cni0", "flannel.1"
# The ends of the names of gpustack's chains; those of firewalld's policies are made by firewalld.
INPUT_CHAINS = ("GPUSTACK-IN", "gpustack_in", "gpustack-in_allow", "ufw-user-input")
FORWARD_CHAINS = ("GPUSTACK-FWD", "gpustack_forward", "gpustack-forward_allow", "ufw-user-forward")
OUTPUT_CHAINS = ("GPUSTACK-OUT", "gpustack_out", "gpustack-out_allow", "ufw-user-output")
UNIT_MANAGERS = ("nftables", "iptables")


def map_peer_addresses(view: View) -> dict[str, str]:
    """Map hosts to node addresses, of those that are known. Raise FactUnavailable where the address of this host is
    unknown."""
    own_address, addresses = find_node_address(view), view.compute_once(compute_known_addresses)
    return addresses if addresses.get(view.location) == own_address else {**addresses, view.location: own_address}


def compute_known_addresses(view: View) -> dict[str, str]:
    """Compute the known node addresses. Raise FactUnavailable where only the operator can set the address of a host:
    rules without it would shut it out."""
    host_views = [View(view.snapshot, host.name) for host in view.hosts]
    if unconfirmed_hosts := [
        host_view.location for host_view in host_views if host_view.reached and is_unconfirmed(host_view)
    ]:
        raise FactUnavailable(f"the address of {format_value(unconfirmed_hosts)} is to be set in the inventory ({KEY})")
    return {
        host_view.location: find_node_address(host_view)
        for host_view in host_views
        if host_view.reached and has_address(host_view)
    }


def has_address(view: View) -> bool:
    return view.host.spec.gpustack_node_ip is not None or view.has_fact(ADDRESS)


def choose_role(view: View) -> str:
    return CONTROL_PLANE if view.host.control_plane else NODE


def list_host_flows(view: View, *, with_controllers: bool = True) -> list[dict[str, Any]]:
    """List the flows of this host, with or without those from the addresses from which gpustack connects."""
    controllers = list_controllers(view) if with_controllers else []
    clients = (" ".join(controllers), NODE_PORTS if uses_node_ports(view) else "")
    return view.compute_once(compute_flows, map_peer_addresses(view), choose_role(view), *clients)


def compute_flows(
    view: View, nodes: dict[str, str], group: str, controllers: str, node_ports: str
) -> list[dict[str, Any]]:
    addresses = list_node_addresses(view.snapshot.inventory, nodes)
    all_flows = build_flow_entries(view.spec, addresses, node_ports=bool(node_ports))
    all_flows += build_controller_entries(view.spec, controllers.split())
    return [flow for flow in all_flows if flow["roles"] == "all" or group == CONTROL_PLANE]


def list_controllers(view: View) -> list[str]:
    """List the addresses from which gpustack has connected to a control plane, as the host sees them; none where the
    spec names the clients. Earlier ones are those that gpustack's rules let in to the API and to nothing else: whoever
    works from another place shuts nobody out."""
    if view.spec.firewall.sources is not None or not view.host.control_plane:
        return []
    passes = list_loaded_passes(view[FIREWALL])
    hosts = {rule.split()[2] for rule in passes if re.fullmatch(rf"in tcp [0-9.]+/32 {API_PORT}", rule)}
    addresses = {network.removesuffix("/32") for network in hosts if f"in tcp {network} {KUBELET_PORT}" not in passes}
    # Recordings that are older than the probe were not asked for it. An answer that is none makes the flows unknown.
    answers = [view[CONTROLLER]] if (CONTROLLER.id, view.location) in view.snapshot.answers else []
    return sorted({*addresses, *filter(is_ipv4_address, answers)})


def uses_node_ports(view: View) -> bool:
    """Tell whether clients may reach NodePorts, and something has one. Raise FactUnavailable where a cluster does not
    tell its Services."""
    settings = view.spec.monitoring
    if not view.spec.firewall.sources:
        return False
    if settings.enabled and (settings.access.type == "node-port" or settings.access.prometheus_node_port):
        return True
    if not is_member(view.select_host(view.acting_host)):
        return False
    return any(service.node_ports for service in view[SERVICES])


def list_expected_passes(view: View, manager: str) -> frozenset[str]:
    """List what gpustack's rules should accept. ufw and firewalld open the loopback interface by themselves."""
    expected_passes = view.compute_once(compute_passes, list_host_flows(view), choose_role(view))
    return expected_passes - {"in lo", "out lo"} if manager in ("ufw", "firewalld") else expected_passes


def compute_passes(_: View, flows: list[dict[str, Any]], group: str) -> frozenset[str]:
    return list_rules(flows, control_plane=group == CONTROL_PLANE)


def detect_manager(view: View) -> str:
    """Detect the manager of the firewall: firewalld, ufw, nftables, iptables, or none if nothing stops a stranger."""
    firewall = view[FIREWALL]
    if firewall.firewalld or firewall.ufw:
        return "firewalld" if firewall.firewalld else "ufw"
    owners = {firewall.find_owner(base) for base in find_denying_chains(view)}
    return next((owner for owner in UNIT_MANAGERS if owner in owners), "none")


def find_denying_chains(view: View) -> list[Base]:
    """Find the first base chain of each hook that stops what no rule accepts."""
    firewall, own_address = view[FIREWALL], find_node_address(view)
    outside_interface = firewall.interfaces.get(own_address, "")
    packets = (
        Packet(UNUSED_ADDRESS, "tcp", DISCARD, outside_interface, own_address),
        Packet(UNUSED_ADDRESS, "tcp", DISCARD, outside_interface, UNUSED_ADDRESS, outside_interface, "forward"),
        Packet(own_address, "tcp", DISCARD, "", UNUSED_ADDRESS, outside_interface, "output"),
    )
    return [stop_reason.base for packet in packets if (stop_reason := find_stop(firewall.filter, packet))]


def list_loaded_passes(firewall: Firewall) -> frozenset[str]:
    """List what gpustack's chains in the running kernel accept; of ufw, the chains that it keeps all user rules in."""
    chains = firewall.filter.chains.items()
    input_passes = (list_passes(rules, "input") for name, rules in chains if name.endswith(INPUT_CHAINS))
    forward_passes = (list_passes(rules, "forward") for name, rules in chains if name.endswith(FORWARD_CHAINS))
    output_passes = (list_passes(rules, "output") for name, rules in chains if name.endswith(OUTPUT_CHAINS))
    return frozenset().union(*input_passes, *forward_passes, *output_passes)


def is_persistent(firewall: Firewall, manager: str) -> bool:
    """Tell whether it is known what loads the rules at boot."""
    return {"nftables": firewall.nftables, "iptables": firewall.netfilter_persistent}.get(manager, True)


def list_inbound_packets(view: View, *, with_controllers: bool) -> Iterator[Packet]:
    """List one packet for each flow to this host and each kind of source, ranges of ports by their first."""
    firewall, own_address = view[FIREWALL], find_node_address(view)
    outside_interface, pod_address = firewall.interfaces.get(own_address, ""), choose_pod_address(view)
    all_flows = list_host_flows(view, with_controllers=with_controllers)
    nodes = next(flow["addresses"] for flow in all_flows if flow["sources"] == "nodes")
    by_kind = list_address_kinds(view, nodes)
    for flow in (flow for flow in all_flows if flow["to"] == "host"):
        if flow["sources"] == "self":
            yield Packet("127.0.0.1", "tcp", 2379, "lo", "127.0.0.1")
            continue
        for address, times in list_sources(flow, pod_address, by_kind):
            interface = BRIDGE if flow["sources"] == "pods" else "lo" if address == own_address else outside_interface
            for port in flow["ports"]:
                yield Packet(address, flow["proto"], int(port.split("-")[0]), interface, own_address, times=times)


def list_sources(
    flow: Mapping[str, Any], pod_address: str, by_kind: Sequence[tuple[str, int]]
) -> Sequence[tuple[str, int]]:
    """List an address of each kind of source. Clients that may be anybody are the nodes, too."""
    if flow["sources"] == "clients" and ANY_NETWORK not in flow["addresses"]:
        networks = [IPv4Network(address) for address in flow["addresses"]]
        return [(str(network[min(1, network.num_addresses - 1)]), 1) for network in networks]
    return [(pod_address, 1)] if flow["sources"] == "pods" else by_kind


def list_outbound_packets(view: View) -> Iterator[Packet]:
    """List one packet for each flow that this host sends and each target."""
    firewall, own_address = view[FIREWALL], find_node_address(view)
    outside_interface, pod_address = firewall.interfaces.get(own_address, ""), choose_pod_address(view)
    yield Packet("127.0.0.1", "tcp", 2379, "", "127.0.0.1", "lo", "output")
    for out_interface in (BRIDGE, OVERLAY):
        yield Packet(own_address, "tcp", 443, "", pod_address, out_interface, "output")
    for flow in (flow for flow in list_host_flows(view) if flow["to"] == "nodes"):
        for target, times in list_address_kinds(view, flow["addresses"]):
            for port in flow["ports"]:
                out_interface = "lo" if target == own_address else outside_interface
                proto, first_port = flow["proto"], int(port.split("-")[0])
                yield Packet(own_address, proto, first_port, "", target, out_interface, "output", times=times)


def list_address_kinds(view: View, nodes: Sequence[str]) -> list[tuple[str, int]]:
    """List addresses of nodes that no rule of this host distinguishes, by the first of each kind and how many there
    are. The host's own address is a kind of its own: its packets to itself take another path."""
    own_address, firewall = find_node_address(view), view[FIREWALL]
    nets = sorted(list_networks(firewall.filter) | list_networks(firewall.legacy))
    groups = view.compute_once(group_by_network, " ".join(nets), nodes)
    other_kinds = [
        (first, len(group) - (own_address in group))
        for group in groups
        if (first := next((address for address in group if address != own_address), ""))
    ]
    all_kinds = other_kinds + [(own_address, 1)] * any(own_address in group for group in groups)
    return sorted(all_kinds, key=lambda kind: IPv4Address(kind[0]))


def group_by_network(_: View, nets: str, nodes: Sequence[str]) -> list[dict[str, None]]:
    """Group nodes by the networks that rules name. The groups are ordered sets: every host looks into them."""
    groups: dict[tuple[bool, ...], dict[str, None]] = {}
    for address in (net.split("/")[0] for net in nodes):
        groups.setdefault(tuple(contains_address(address, net) for net in nets.split()), {})[address] = None
    return list(groups.values())


def list_forwarded_packets(view: View) -> Iterator[Packet]:
    """List packets between pods and all others. A rule may stop the questions of pods for names alone."""
    outside_interface = view[FIREWALL].interfaces.get(find_node_address(view), "")
    pod_address = choose_pod_address(view)
    for source, interface, target, out_interface in (
        (pod_address, BRIDGE, UNUSED_ADDRESS, outside_interface),
        (pod_address, BRIDGE, pod_address, OVERLAY),
        (pod_address, OVERLAY, pod_address, BRIDGE),
        (UNUSED_ADDRESS, outside_interface, pod_address, BRIDGE),
    ):
        yield Packet(source, "tcp", 443, interface, target, out_interface, "forward")
        if source == pod_address:
            yield Packet(source, "udp", 53, interface, target, out_interface, "forward")


def choose_pod_address(view: View) -> str:
    return str(view.spec.kubernetes.pod_cidr[10])


def find_blocked_packets(firewall: Firewall, packets: Iterator[Packet]) -> list[tuple[Packet, Stop]]:
    """Find the packets that do not pass, and why; an older iptables beside the newer one is asked too."""
    if not (firewall.filter.can_stop or firewall.legacy.can_stop):
        return []
    reasons = ((packet, find_stop(firewall.filter, packet) or find_stop(firewall.legacy, packet)) for packet in packets)
    return [(packet, reason) for packet, reason in reasons if reason]


def list_blocked_inbound(view: View, *, with_controllers: bool = False) -> list[tuple[Packet, Stop]]:
    """List the inbound packets that do not pass. Several checks ask, of rules that may be hundreds."""
    return view.compute_once(compute_blocked_inbound, view.location, "controllers" if with_controllers else "")


def compute_blocked_inbound(view: View, host: str, clients: str) -> list[tuple[Packet, Stop]]:
    host_view = view.select_host(host)
    packets = list_inbound_packets(host_view, with_controllers=bool(clients))
    return find_blocked_packets(host_view[FIREWALL], packets)


def format_remaining(blocked_packets: Sequence[tuple[Packet, Stop]]) -> str:
    """Format the number of blocked packets beside the first one."""
    remaining = sum(packet.times for packet, _ in blocked_packets) - 1
    return f" (and {remaining} more)" if remaining > 0 else ""


def choose_cure(view: View, reason: Stop) -> Cure:
    """Choose the cure. Install can only add to what the host's own manager keeps, and before what stops everything."""
    firewall, manager = view[FIREWALL], detect_manager(view)
    if firewall.find_owner(reason.base) == "gpustack" and view.spec.firewall.manage:
        return "install"
    is_managed = (
        view.spec.firewall.manage
        and reason.base in firewall.filter.bases
        and firewall.find_owner(reason.base) == manager
    )
    if not is_managed or not is_persistent(firewall, manager):
        return "operator"
    # ufw asks its rules in the order in which they were made, and what names a source was meant.
    if manager in (*UNIT_MANAGERS, "ufw") and not reason.general:
        return "operator"
    if manager in UNIT_MANAGERS:
        return "install"
    return "operator" if list_expected_passes(view, manager) <= list_loaded_passes(firewall) else "install"
