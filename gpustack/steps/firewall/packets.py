"""The packets that a cluster depends on, which rule of a host blocks them, and what could allow them."""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address
from typing import Any

from gpustack.ask.judge import Cure, as_text
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.config.flows import flows, node_addresses, passes
from gpustack.config.host import CONTROL_PLANE, NODE
from gpustack.probes.firewall.live import FIREWALL, Firewall
from gpustack.probes.firewall.packet_filter import Base, Packet, Stop, contains_address, networks, own_passes, stop
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.node_address import KEY, find_node_address, is_unconfirmed

# TEST-NET-1 (RFC 5737) and the discard port: nobody has a reason to let this in.
UNUSED_ADDRESS, DISCARD = "192.0.2.77", 9
BRIDGE, OVERLAY = "cni0", "flannel.1"
# The ends of the names of our chains; those of firewalld's policies are made by firewalld.
INTO = ("GPUSTACK-IN", "gpustack_in", "gpustack-in_allow", "ufw-user-input")
THROUGH = ("GPUSTACK-FWD", "gpustack_forward", "gpustack-forward_allow", "ufw-user-forward")
OUT = ("GPUSTACK-OUT", "gpustack_out", "gpustack-out_allow", "ufw-user-output")
KEPT_BY_UNIT = ("nftables", "iptables")


def peers(here: View) -> dict[str, str]:
    """Node addresses by host, of those that told theirs. Without its own nothing can be said of a host."""
    mine, known = find_node_address(here), here.once(known_addresses)
    return known if known.get(here.where) == mine else {**known, here.where: mine}


def known_addresses(here: View) -> dict[str, str]:
    """Raises FactUnavailable where the address of a host is for the operator to say: rules without it would shut it
    out."""
    views = [View(here.snapshot, host.name) for host in here.hosts]
    if unconfirmed := [view.where for view in views if view.reached and is_unconfirmed(view)]:
        raise FactUnavailable(f"the address of {as_text(unconfirmed)} is to be set in the inventory ({KEY})")
    return {view.where: find_node_address(view) for view in views if view.reached and has_address(view)}


def has_address(here: View) -> bool:
    return here.host.spec.gpustack_node_ip is not None or here.available(ADDRESS)


def role(here: View) -> str:
    return CONTROL_PLANE if here.host.control_plane else NODE


def needed(here: View) -> list[dict[str, Any]]:
    """The flows of this host."""
    return here.once(flows_of_role, peers(here), role(here))


def flows_of_role(here: View, nodes: dict[str, str], group: str) -> list[dict[str, Any]]:
    found = flows(here.spec, node_addresses(here.snapshot.inventory, nodes))
    return [flow for flow in found if flow["roles"] == "all" or group == CONTROL_PLANE]


def wanted(here: View, manager: str) -> frozenset[str]:
    """What ours should let pass. ufw and firewalld open the loopback interface by themselves."""
    found = here.once(passes_of, needed(here), role(here))
    return found - {"in lo", "out lo"} if manager in ("ufw", "firewalld") else found


def passes_of(_: View, flowing: list[dict[str, Any]], group: str) -> frozenset[str]:
    return passes(flowing, control_plane=group == CONTROL_PLANE)


def manager(here: View) -> str:
    """Who looks after the firewall: firewalld, ufw, nftables, iptables, or none if nothing stops a stranger."""
    found = here[FIREWALL]
    if found.firewalld or found.ufw:
        return "firewalld" if found.firewalld else "ufw"
    owners = {found.owner(base) for base in denying(here)}
    return next((owner for owner in KEPT_BY_UNIT if owner in owners), "none")


def denying(here: View) -> list[Base]:
    """The first base chain of each hook that stops what nobody lets through."""
    found, mine = here[FIREWALL], find_node_address(here)
    outside = found.interfaces.get(mine, "")
    packets = (
        Packet(UNUSED_ADDRESS, "tcp", DISCARD, outside, mine),
        Packet(UNUSED_ADDRESS, "tcp", DISCARD, outside, UNUSED_ADDRESS, outside, "forward"),
        Packet(mine, "tcp", DISCARD, "", UNUSED_ADDRESS, outside, "output"),
    )
    return [stopped.base for packet in packets if (stopped := stop(found.filter, packet))]


def loaded(found: Firewall) -> frozenset[str]:
    """What our chains in the running kernel let pass; of ufw, the chains that it keeps all user rules in."""
    chains = found.filter.chains.items()
    into = (own_passes(rules, "input") for name, rules in chains if name.endswith(INTO))
    through = (own_passes(rules, "forward") for name, rules in chains if name.endswith(THROUGH))
    out = (own_passes(rules, "output") for name, rules in chains if name.endswith(OUT))
    return frozenset().union(*into, *through, *out)


def kept(found: Firewall, who: str) -> bool:
    """Whether it is known what loads the rules at boot."""
    return {"nftables": found.nftables, "iptables": found.netfilter_persistent}.get(who, True)


def let_in(here: View) -> Iterator[Packet]:
    """One packet for each flow to this host and each kind of source, ranges of ports by their first."""
    found, mine = here[FIREWALL], find_node_address(here)
    outside, pod = found.interfaces.get(mine, ""), pods(here)
    flowing = needed(here)
    nodes = next(flow["addresses"] for flow in flowing if flow["sources"] == "nodes")
    by_kind = kinds(here, nodes)
    for flow in (flow for flow in flowing if flow["to"] == "host"):
        if flow["sources"] == "self":
            yield Packet("127.0.0.1", "tcp", 2379, "lo", "127.0.0.1")
            continue
        for address, times in [(pod, 1)] if flow["sources"] == "pods" else by_kind:
            interface = BRIDGE if flow["sources"] == "pods" else "lo" if address == mine else outside
            for port in flow["ports"]:
                yield Packet(address, flow["proto"], int(port.split("-")[0]), interface, mine, times=times)


def let_out(here: View) -> Iterator[Packet]:
    """One packet for each flow that this host sends and each target."""
    found, mine = here[FIREWALL], find_node_address(here)
    outside, pod = found.interfaces.get(mine, ""), pods(here)
    yield Packet("127.0.0.1", "tcp", 2379, "", "127.0.0.1", "lo", "output")
    for out in (BRIDGE, OVERLAY):
        yield Packet(mine, "tcp", 443, "", pod, out, "output")
    for flow in (flow for flow in needed(here) if flow["to"] == "nodes"):
        for target, times in kinds(here, flow["addresses"]):
            for port in flow["ports"]:
                out = "lo" if target == mine else outside
                yield Packet(mine, flow["proto"], int(port.split("-")[0]), "", target, out, "output", times=times)


def kinds(here: View, nodes: Sequence[str]) -> list[tuple[str, int]]:
    """Addresses of nodes that no rule of this host tells apart, by the first of each kind and how many there are. The
    host's own is a kind of its own: what it sends itself goes another way."""
    mine, found = find_node_address(here), here[FIREWALL]
    nets = sorted(networks(found.filter) | networks(found.legacy))
    groups = here.once(grouped_by_network, " ".join(nets), nodes)
    others = [(first, len(group) - (mine in group)) for group in groups if (first := one_of(group, mine))]
    whole = others + [(mine, 1)] * any(mine in group for group in groups)
    return sorted(whole, key=lambda kind: IPv4Address(kind[0]))


def grouped_by_network(_: View, nets: str, nodes: Sequence[str]) -> list[dict[str, None]]:
    """Sets in order: they are looked into on behalf of each host."""
    groups: dict[tuple[bool, ...], dict[str, None]] = {}
    for address in (net.split("/")[0] for net in nodes):
        groups.setdefault(tuple(contains_address(address, net) for net in nets.split()), {})[address] = None
    return list(groups.values())


def one_of(group: Iterable[str], mine: str) -> str:
    return next((address for address in group if address != mine), "")


def forwarded(here: View) -> Iterator[Packet]:
    outside, pod = here[FIREWALL].interfaces.get(find_node_address(here), ""), pods(here)
    for source, interface, target, out in (
        (pod, BRIDGE, UNUSED_ADDRESS, outside),
        (pod, BRIDGE, pod, OVERLAY),
        (pod, OVERLAY, pod, BRIDGE),
        (UNUSED_ADDRESS, outside, pod, BRIDGE),
    ):
        yield Packet(source, "tcp", 443, interface, target, out, "forward")


def pods(here: View) -> str:
    return str(here.spec.kubernetes.pod_cidr[10])


def stopped(found: Firewall, packets: Iterator[Packet]) -> list[tuple[Packet, Stop]]:
    """Those that do not pass, and why; an older iptables beside the newer one is asked too."""
    if not (found.filter.stops or found.legacy.stops):
        return []
    by = ((packet, stop(found.filter, packet) or stop(found.legacy, packet)) for packet in packets)
    return [(packet, reason) for packet, reason in by if reason]


def shut_out(here: View) -> list[tuple[Packet, Stop]]:
    """What of `let_in` does not pass. Several checks ask, of rules that may be hundreds."""
    return here.once(shut_out_of, here.where)


def shut_out_of(here: View, host: str) -> list[tuple[Packet, Stop]]:
    view = here.on(host)
    return stopped(view[FIREWALL], let_in(view))


def more(found: Sequence[tuple[Packet, Stop]]) -> str:
    """Beside the first one."""
    others = sum(packet.times for packet, _ in found) - 1
    return f" (and {others} more)" if others > 0 else ""


def cure(here: View, reason: Stop) -> Cure:
    """Install can only add to what the host's own manager keeps, and before what stops everything."""
    found, who = here[FIREWALL], manager(here)
    if found.owner(reason.base) == "gpustack" and here.spec.firewall.manage:
        return "install"
    ours = here.spec.firewall.manage and reason.base in found.filter.bases and found.owner(reason.base) == who
    if not ours or not kept(found, who):
        return "operator"
    # ufw asks its rules in the order in which they were made, and what names a source was meant.
    if who in (*KEPT_BY_UNIT, "ufw") and not reason.general:
        return "operator"
    if who in KEPT_BY_UNIT:
        return "install"
    return "operator" if wanted(here, who) <= loaded(found) else "install"
