"""Faults of the layer `cni` in the network of the host: what it forwards, and whose addresses it has."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from itertools import chain

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.firewall.live_rules import FIREWALL
from gpustack.probes.firewall.packet_filter import Packet, walk_chain
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.network.addresses import ADDRESS, ADDRESSES, BRIDGE, ROUTES
from gpustack.probes.network.cni import FORWARDING
from gpustack.probes.network.nameservers import NAMESERVERS
from gpustack.steps.firewall.packets import BRIDGE as PODS_BRIDGE
from gpustack.steps.firewall.packets import (
    OVERLAY,
    choose_pod_address,
    find_blocked_packets,
    list_forwarded_packets,
    map_peer_addresses,
)
from gpustack.steps.prereqs.networks import list_address_overlaps, list_name_server_overlaps


def list_pod_packets(view: View) -> list[Packet]:
    """List packets that are forwarded between pods and all others, without connections from outside to a pod."""
    return [packet for packet in list_forwarded_packets(view) if packet.interface in (PODS_BRIDGE, OVERLAY)]


@check("forward-policy-drop", BRIDGE, FIREWALL, ADDRESS, FORWARDING)
def forward_drop(view: View) -> Result:
    """Look for a rule of neither ufw nor firewalld that drops pod traffic (ufw, firewalld and rejecting rules are other
    faults), or for a policy that drops it where Flannel's rules at the end of the chain do not accept."""
    subject = "pod traffic through this host"
    if not view[BRIDGE]:
        return build_ok_result(subject, "none: no bridge with an address")
    if drop := next(chain(find_rule_drops(view), find_policy_drops(view)), ""):
        return Result(subject, "forwarded", drop)
    return build_ok_result(subject, "forwarded")


def find_rule_drops(view: View) -> Iterator[str]:
    firewall = view[FIREWALL]
    for packet, stop in find_blocked_packets(firewall, iter(list_pod_packets(view))):
        if firewall.find_owner(stop.base) in ("iptables", "nftables") and not (
            stop.path and "REJECT" in stop.path[-1].text
        ):
            yield f"{packet} is blocked by {stop}"


def find_policy_drops(view: View) -> Iterator[str]:
    forwarding, rules = view[FORWARDING], view[FIREWALL].filter
    pod = IPv4Address(choose_pod_address(view))
    if forwarding.policy != "DROP" or any(pod in IPv4Network(net) for net in forwarding.accepted_networks):
        return
    for base in (base for base in rules.bases if base.iptables and base.hook == "forward"):
        for packet in list_pod_packets(view):
            if not walk_chain(rules.chains, base.chain, packet, {})[0]:
                yield f"{packet} is dropped by the policy of FORWARD, without a rule of Flannel that accepts it"


@check("cidr-overlaps-host-network", ROUTES, ADDRESS, ADDRESSES, NAMESERVERS, LEFTOVERS)
def ranges_overlap(view: View) -> Result:
    """Look for addresses, routes and name servers inside the networks of the cluster. A wider route does no harm,
    because the cluster's is more specific."""
    subject = "pod and service networks"
    # A route by the node at its other end is Flannel's own, where it needs no overlay.
    routes = view[ROUTES]
    nodes = set(map_peer_addresses(view).values()) if any(route.via for route in routes) else set()
    overlaps = [f"route {route.network} by {route.via or route.link}" for route in routes if route.via not in nodes]
    overlaps += [*list_address_overlaps(view), *list_name_server_overlaps(view)]
    return Result(subject, "not used otherwise", format_value(overlaps), ok=not overlaps)
