"""Checks of the table that restricts the metrics ports which we open for Prometheus.

etcd, kube-proxy, the controller-manager and the scheduler then listen on all addresses, including those of IPv6: Go
takes 0.0.0.0 for any address of either version (net.Listen; seen with ss).
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.config.flows import guarded
from gpustack.config.host import CONTROL_PLANE
from gpustack.probes.firewall.guard import GUARD, find_loaded
from gpustack.probes.firewall.live import FIREWALL, STORED_RULES
from gpustack.probes.firewall.packet_filter import Packet, stop
from gpustack.steps.firewall.ours import some
from gpustack.steps.firewall.packets import BRIDGE, OVERLAY, peers, role
from gpustack.steps.firewall.packets import needed as flows_here
from gpustack.steps.node_address import find_node_address

# Addresses that nobody has: RFC 5737, RFC 3849.
UNUSED_ADDRESSES = ("192.0.2.77", "198.51.100.77", "203.0.113.77")
UNUSED_ADDRESS6, HOST6 = "2001:db8::77", "2001:db8::1"


def metrics_ports_blocked(here: View) -> Result | None:
    """Only nodes and pods can reach the metrics of the control plane, with or without another firewall."""
    found = find_admitted(here) if here.spec.firewall.manage else []
    if not found:
        return None
    admitted = f"{found[0]} is allowed" + (f" (and {len(found) - 1} more)" if len(found) > 1 else "")
    return Result("metrics of the control plane", "open only to nodes and pods", admitted)


def guard_is_kept(here: View) -> Result | None:
    """Our table for these ports, if there is one, is loaded, is restored at boot, and matches this cluster."""
    live, stored = find_loaded(here[FIREWALL].filter), here[STORED_RULES].guard
    if not here.spec.firewall.manage or not has_guard(here):
        return None
    wants = wanted_guard(here)
    # What looks like too much may be the address of a node that could not say it.
    more = (live | stored) - wants if len(peers(here)) == len(here.hosts) or not wants else frozenset()
    parts = {"missing in the kernel": wants - live, "missing at boot": wants - stored, "unexpected": more}
    differences = "; ".join(f"{len(those)} {word}: {some(sorted(those))}" for word, those in parts.items() if those)
    return (
        Result("gpustack's nftables table for the metrics", "the rules of this cluster", differences)
        if differences
        else None
    )


def choose_guard_state(here: View) -> str:
    """The state that the role sets for gpustack's table: present, absent, or unchanged if gpustack does not decide. An
    existing table stays: a firewall that replaces it may be disabled again."""
    if not here.spec.firewall.manage:
        return ""
    return "present" if wanted_guard(here) and (has_guard(here) or find_admitted(here)) else "absent"


def wanted_guard(here: View) -> frozenset[str]:
    """The clients to allow; none if the metrics listen on 127.0.0.1."""
    return here.once(guarded_flows, flows_here(here), role(here))


def guarded_flows(_: View, flowing: list[dict[str, Any]], group: str) -> frozenset[str]:
    return guarded(flowing, control_plane=group == CONTROL_PLANE)


def has_guard(here: View) -> bool:
    bases = here[FIREWALL].filter.bases
    return bool(here[STORED_RULES].guard) or any(base.chain.startswith(f"{GUARD} ") for base in bases)


def find_admitted(here: View) -> list[Packet]:
    """Packets from outside the cluster that no rule blocks."""
    found = here[FIREWALL]
    return [
        packet
        for packet in list_probe_packets(here)
        if not stop(found.filter, packet) and not stop(found.legacy, packet)
    ]


def list_probe_packets(here: View) -> Iterator[Packet]:
    """One packet for each port and address. Interfaces of the pod network have no clients outside the cluster."""
    found, mine, unused = here[FIREWALL], find_node_address(here), find_unused_address(here)
    others = {address: name for address, name in found.interfaces.items() if is_outside(name)}
    targets = {mine: found.interfaces.get(mine, "")} | others
    for port in sorted({int(one.rsplit(" ", 1)[1]) for one in wanted_guard(here)}):
        for target, interface in targets.items():
            yield Packet(unused, "tcp", port, interface, target)
        for interface in filter(is_outside, found.ipv6):
            yield Packet(UNUSED_ADDRESS6, "tcp", port, interface, HOST6)


def is_outside(interface: str) -> bool:
    return interface not in ("lo", BRIDGE, OVERLAY) and not interface.startswith("veth")


def find_unused_address(here: View) -> str:
    """An address that is in no network of this cluster."""
    return here.once(choose_unused_address, peers(here))


def choose_unused_address(here: View, nodes: dict[str, str]) -> str:
    taken = {here.spec.kubernetes.pod_cidr, here.spec.kubernetes.service_cidr}
    taken |= {IPv4Network(f"{address}/24", strict=False) for address in nodes.values()}
    return next(
        (one for one in UNUSED_ADDRESSES if not any(IPv4Address(one) in net for net in taken)), UNUSED_ADDRESSES[-1]
    )
