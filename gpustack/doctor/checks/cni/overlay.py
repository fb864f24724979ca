"""Faults of the layer `cni` between nodes: who Flannel tells the others it is, and what stops what it wraps."""

from collections.abc import Iterator, Mapping

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.cni.pod_network import find_deliveries, format_deliveries, passed
from gpustack.probes.firewall.live import FIREWALL
from gpustack.probes.firewall.packet_filter import Packet, Stop
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS
from gpustack.probes.network.checksums import CHECKSUMS
from gpustack.probes.network.flannel import ANNOUNCED, LINKS, Announced
from gpustack.probes.network.pod_network import POD_PATHS
from gpustack.steps.firewall.packets import peers, shut_out
from gpustack.steps.node_address import find_node_address
from gpustack.steps.own_node import own


def find_own_announcement(here: View) -> Announced | None:
    """What this host's Flannel announces, once the host is a node and Flannel has registered."""
    node = own(here)
    return here[ANNOUNCED].get(node.name) if node else None


@check("vxlan-mac-changed", NODES, IDENTITY, ANNOUNCED, LINKS, POD_PATHS)
def mac_changed(here: View) -> Result:
    """The MAC address differs from the announced one, or was restored without the neighbour entries of its peers."""
    what, announced, links = "MAC address of Flannel's link", find_own_announcement(here), here[LINKS]
    if not announced or not announced.mac or not links:
        return ok(what, "no vxlan link of Flannel on this host")
    if links[0].mac != announced.mac:
        return Result(what, f"{announced.mac}, as announced", links[0].mac)
    others = [peer for peer in here[POD_PATHS].peers if peer.link == links[0].name]
    if others and not any(peer.mac for peer in others):
        return Result(what, "neighbour entries for its peers", f"{links[0].mac}, without any entry for a peer")
    return ok(what, f"{links[0].mac}, as announced")


@check("flannel-wrong-interface", NODES, IDENTITY, ANNOUNCED, POD_PATHS)
def wrong_interface(here: View) -> Result:
    """A separate network for pods is not a fault: every node has a unique, reachable address in it."""
    what, node, announced = "address that Flannel announces", own(here), find_own_announcement(here)
    if node is None or announced is None:
        return ok(what, "none: Flannel is not registered on this node")
    if announced.address == node.address:
        return ok(what, f"{node.address}, as of the node")
    same = [name for name, one in here[ANNOUNCED].items() if one.address == announced.address]
    if len(same) > 1:
        return Result(
            what,
            f"a unique one, such as {node.address}",
            f"{announced.address}, as on {as_text(same)}",
        )
    found = find_deliveries(here)
    if set(found.values()) == {"nothing"}:
        return Result(
            what, f"a reachable one, such as {node.address}", f"{announced.address}: {format_deliveries(found)}"
        )
    return ok(what, f"{announced.address}, on a separate network")


@check("vxlan-port-blocked", FIREWALL, ADDRESS, POD_PATHS, ANNOUNCED, LINKS, NODES, IDENTITY)
def vxlan_blocked(here: View) -> Result:
    """By a rule of this host, or between the hosts if neither end explains the loss."""
    if here.spec.flannel.backend != "vxlan":
        return ok("backend of Flannel", here.spec.flannel.backend)
    what = f"udp {here.spec.flannel.port} between nodes"
    if found := find_vxlan_stops(here):
        packet, stop = found[0]
        return Result(what, "allowed", f"{packet} is blocked by {stop}")
    lost = find_deliveries(here)
    if not lost or set(lost.values()) != {"nothing"}:
        return ok(what, f"allowed on this host; {format_deliveries(lost)}")
    if why := next(explain_silence(here), ""):
        return ok(what, why)
    return Result(what, "allowed between the hosts", f"{format_deliveries(lost)}, with both ends configured correctly")


def addresses(here: View) -> Mapping[str, str]:
    """Hosts by their node address."""
    return {address: name for name, address in peers(here).items()}


def find_vxlan_stops(here: View) -> list[tuple[Packet, Stop]]:
    port = here.spec.flannel.port
    return [(packet, stop) for packet, stop in shut_out(here) if (packet.proto, packet.port) == ("udp", port)]


def explain_silence(here: View) -> Iterator[str]:
    """What else explains that nothing arrives, in words."""
    ways, announced = here[POD_PATHS], here[ANNOUNCED]
    if passed(ways.host, "overlay", "bridge"):
        yield "the overlay addresses of other nodes respond to this host"
    ends = {(one.address, one.mac) for one in announced.values()}
    if len({address for address, _ in ends}) < len(announced) or len({mac for _, mac in ends}) < len(announced):
        yield "two nodes announce the same address or MAC"
    yield from (
        f"the neighbour entry for {peer.subnet} differs" for peer in ways.peers if (peer.node, peer.mac) not in ends
    )
    others = addresses(here)
    for address in (find_node_address(here), *(peer.node for peer in ways.peers)):
        there = here.on(others[address]) if address in others else None
        if there and there.reached and there.available(LINKS) and there.available(FIREWALL):
            yield from find_end_faults(there, announced)


def find_end_faults(there: View, announced: Mapping[str, Announced]) -> Iterator[str]:
    """What is wrong with one end."""
    links = there[LINKS]
    if not links or not links[0].up:
        yield f"Flannel's link of {there.where} is down"
    elif links[0].mac not in {one.mac for one in announced.values()}:
        yield f"Flannel's link of {there.where} has a different MAC address"
    if find_vxlan_stops(there):
        yield f"{there.where} blocks it"


@check("vxlan-checksum-offload", CHECKSUMS, ADDRESS)
def checksum_offload(here: View) -> Result:
    """On the receiving host, whose kernel logs it, while a sender still offloads the checksums."""
    what, found = "outer checksums of vxlan", here[CHECKSUMS]
    if not found.wrong:
        return ok(what, "correct, according to the kernel log")
    others = {address: here.on(name) for address, name in addresses(here).items()}
    without_offload = {
        at for at, view in others.items() if view.available(CHECKSUMS) and view[CHECKSUMS].offload is False
    }
    if senders := [
        f"{count} from {address}" for address, count in found.wrong.items() if address not in without_offload
    ]:
        return Result(what, "correct", f"incorrect: {as_text(senders)}")
    return ok(what, "some were incorrect, but their senders no longer offload them")


CHECKS = (mac_changed, wrong_interface, vxlan_blocked, checksum_offload)
