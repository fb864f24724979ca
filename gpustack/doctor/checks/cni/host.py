"""Faults of the layer `cni` that lie in the host's own network: what it forwards, and whose addresses it has."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from itertools import chain

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.firewall.live import FIREWALL
from gpustack.probes.firewall.packet_filter import Packet, walk
from gpustack.probes.network.addresses import ADDRESS, BRIDGE, ROUTES
from gpustack.probes.network.cni import FORWARDING
from gpustack.probes.network.nameservers import NAMESERVERS
from gpustack.steps.firewall.packets import BRIDGE as PODS_BRIDGE
from gpustack.steps.firewall.packets import OVERLAY, forwarded, peers, pods, stopped


def list_pod_packets(here: View) -> list[Packet]:
    """What is forwarded between pods and all others; who from outside opens a connection to a pod is not in it."""
    return [packet for packet in forwarded(here) if packet.interface in (PODS_BRIDGE, OVERLAY)]


@check("forward-policy-drop", BRIDGE, FIREWALL, ADDRESS, FORWARDING)
def forward_drop(here: View) -> Result:
    """By a rule of neither ufw nor firewalld that drops (ufw, firewalld and rejecting rules are other faults), or by
    the policy where Flannel's rules at the end of the chain do not accept."""
    what = "pod traffic through this host"
    if not here[BRIDGE]:
        return ok(what, "none: no bridge with an address")
    if found := next(chain(find_rule_drops(here), find_policy_drops(here)), ""):
        return Result(what, "forwarded", found)
    return ok(what, "forwarded")


def find_rule_drops(here: View) -> Iterator[str]:
    found = here[FIREWALL]
    for packet, stop in stopped(found, iter(list_pod_packets(here))):
        if found.owner(stop.base) in ("iptables", "nftables") and not (stop.path and "REJECT" in stop.path[-1].text):
            yield f"{packet} is blocked by {stop}"


def find_policy_drops(here: View) -> Iterator[str]:
    asked, rules = here[FORWARDING], here[FIREWALL].filter
    pod = IPv4Address(pods(here))
    if asked.policy != "DROP" or any(pod in IPv4Network(net) for net in asked.accepted):
        return
    for base in (base for base in rules.bases if base.iptables and base.hook == "forward"):
        for packet in list_pod_packets(here):
            if not walk(rules.chains, base.chain, packet, {})[0]:
                yield f"{packet} is dropped by the policy of FORWARD, without a rule of Flannel that accepts it"


@check("cidr-overlaps-host-network", ROUTES, ADDRESS, NAMESERVERS)
def ranges_overlap(here: View) -> Result:
    """Routes inside the networks, and name servers. A wider route does no harm: the cluster's is more specific."""
    what, spec = "pod and service networks", here.spec.kubernetes
    # By the node of the other end: Flannel's own, where it needs no overlay.
    routes = here[ROUTES]
    nodes = set(peers(here).values()) if any(route.via for route in routes) else set()
    found = [f"route {route.network} by {route.via or route.link}" for route in routes if route.via not in nodes]
    ranges = {"pods": spec.pod_cidr, "services": spec.service_cidr}
    for server in here[NAMESERVERS].servers:
        found += [
            f"name server {server} in the network of {whose}" for whose, net in ranges.items() if is_inside(server, net)
        ]
    return Result(what, "not used otherwise", as_text(found), ok=not found)


def is_inside(server: str, net: IPv4Network) -> bool:
    """Whether a name server is; the tenth address of the services is the cluster's own DNS."""
    return ":" not in server and IPv4Address(server) in net and IPv4Address(server) != net[10]


CHECKS = (forward_drop, ranges_overlap)
