"""Checks of the table that restricts the metrics ports which gpustack opens for Prometheus.

etcd, kube-proxy, the controller-manager and the scheduler then listen on all addresses, including those of IPv6: Go
takes 0.0.0.0 for any address of either version (net.Listen; seen with ss).
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.config.host import CONTROL_PLANE
from gpustack.probes.firewall.guard import GUARD, list_loaded_passes
from gpustack.probes.firewall.live_rules import FIREWALL, STORED_RULES
from gpustack.probes.firewall.packet_filter import Packet, find_stop
from gpustack.steps.firewall.flows import list_guarded_rules
from gpustack.steps.firewall.managed_rules import format_rules
from gpustack.steps.firewall.packets import BRIDGE, OVERLAY, choose_role, list_host_flows, map_peer_addresses
from gpustack.steps.node_address import find_node_address

# Addresses that nobody has: RFC 5737, RFC 3849.
UNUSED_ADDRESSES = ("192.0.2.77", "198.51.100.77", "203.0.113.77")
UNUSED_ADDRESS6, HOST6 = "2001:db8::77", "2001:db8::1"


def metrics_ports_blocked(view: View) -> Result | None:
    """The metrics of the control plane can be reached from nodes and pods only, with or without another firewall."""
    packets = find_admitted_packets(view) if view.spec.firewall.manage else []
    if not packets:
        return None
    actual = f"{packets[0]}, an address outside the cluster, is allowed" + (
        f" (and {len(packets) - 1} more)" if len(packets) > 1 else ""
    )
    return Result("metrics of the control plane", "open only to nodes and pods", actual)


def guard_is_kept(view: View) -> Result | None:
    """The table of gpustack for these ports, if there is one, is loaded, is restored at boot, and matches this
    cluster."""
    live_passes, stored_passes = list_loaded_passes(view[FIREWALL].filter), view[STORED_RULES].guard
    if not view.spec.firewall.manage or not has_guard(view):
        return None
    differences = describe_table_drift(view, list_guard_clients(view), live_passes, stored_passes)
    if differences:
        return Result("gpustack's nftables table for the metrics", "the rules of this cluster", differences)
    return None


def describe_table_drift(
    view: View, expected_clients: frozenset[str], live: frozenset[str], at_boot: frozenset[str]
) -> str:
    """Describe how a table of gpustack differs from the clients that it should let in; empty where it does not."""
    # What looks like too much may be the address of a node that could not say it.
    excess = (
        (live | at_boot) - expected_clients
        if len(map_peer_addresses(view)) == len(view.hosts) or not expected_clients
        else frozenset()
    )
    parts = {
        "missing in the kernel": expected_clients - live,
        "missing at boot": expected_clients - at_boot,
        "unexpected": excess,
    }
    return "; ".join(
        f"{len(clients)} {word}: {format_rules(sorted(clients))}" for word, clients in parts.items() if clients
    )


def choose_guard_state(view: View) -> str:
    """Choose the state that the role sets for gpustack's table: present, absent, or unchanged if gpustack does not
    decide. An existing table stays: a firewall that replaces it may be disabled again."""
    if not view.spec.firewall.manage:
        return ""
    return "present" if list_guard_clients(view) and (has_guard(view) or find_admitted_packets(view)) else "absent"


def list_guard_clients(view: View) -> frozenset[str]:
    """List the clients to allow; none if the metrics listen on 127.0.0.1."""
    return view.compute_once(compute_guard_clients, list_host_flows(view), choose_role(view))


def compute_guard_clients(_: View, flows: list[dict[str, Any]], group: str) -> frozenset[str]:
    return list_guarded_rules(flows, control_plane=group == CONTROL_PLANE)


def has_guard(view: View) -> bool:
    return bool(view[STORED_RULES].guard) or is_loaded(view, GUARD)


def is_loaded(view: View, table: str) -> bool:
    """Tell whether the kernel has a table of gpustack."""
    return any(base.chain.startswith(f"{table} ") for base in view[FIREWALL].filter.bases)


def find_admitted_packets(view: View) -> list[Packet]:
    """Find packets from outside the cluster that no rule blocks."""
    firewall = view[FIREWALL]
    return [
        packet
        for packet in list_probe_packets(view)
        if not find_stop(firewall.filter, packet) and not find_stop(firewall.legacy, packet)
    ]


def list_probe_packets(view: View) -> Iterator[Packet]:
    """List one packet for each port and address. Interfaces of the pod network have no clients outside the cluster."""
    firewall, own_address, unused_address = view[FIREWALL], find_node_address(view), find_unused_address(view)
    other_addresses = {address: name for address, name in firewall.interfaces.items() if is_outside(name)}
    targets = {own_address: firewall.interfaces.get(own_address, "")} | other_addresses
    for port in sorted({int(client.rsplit(" ", 1)[1]) for client in list_guard_clients(view)}):
        for target, interface in targets.items():
            yield Packet(unused_address, "tcp", port, interface, target)
        for interface in filter(is_outside, firewall.ipv6):
            yield Packet(UNUSED_ADDRESS6, "tcp", port, interface, HOST6)


def is_outside(interface: str) -> bool:
    return interface not in ("lo", BRIDGE, OVERLAY) and not interface.startswith("veth")


def find_unused_address(view: View) -> str:
    """Find an address that is in no network of this cluster."""
    return view.compute_once(choose_unused_address, map_peer_addresses(view))


def choose_unused_address(view: View, nodes: dict[str, str]) -> str:
    networks = {view.spec.kubernetes.pod_cidr, view.spec.kubernetes.service_cidr}
    networks |= {IPv4Network(f"{address}/24", strict=False) for address in nodes.values()}
    return next(
        (candidate for candidate in UNUSED_ADDRESSES if not any(IPv4Address(candidate) in net for net in networks)),
        UNUSED_ADDRESSES[-1],
    )
