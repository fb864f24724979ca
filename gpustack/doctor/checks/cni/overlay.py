"""Faults of the layer `cni` between nodes: what Flannel announces, and what blocks the overlay."""

from collections.abc import Iterator, Mapping

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Prose
from gpustack.doctor.check import check
from gpustack.doctor.checks.cni.node_routes import describe_missing_routes
from gpustack.doctor.checks.cni.pod_network import find_deliveries, format_deliveries, has_success
from gpustack.probes.firewall.live_rules import FIREWALL
from gpustack.probes.firewall.packet_filter import Packet, Stop
from gpustack.probes.host.recent_changes import PACKAGES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.node_hosts import index_hosts_by_node
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS, ADDRESSES
from gpustack.probes.network.checksums import CHECKSUMS
from gpustack.probes.network.flannel import (
    FLANNEL_ANNOTATIONS,
    LINKS,
    NODE_ROUTES,
    OVERWRITE,
    FlannelAnnotations,
)
from gpustack.probes.network.pod_network import POD_PATHS
from gpustack.probes.network.route_decisions import ROUTE_DECISIONS
from gpustack.steps.firewall.packets import list_blocked_inbound, map_peer_addresses
from gpustack.steps.node_address import find_node_address
from gpustack.steps.own_node import find_node


def find_own_announcement(view: View) -> FlannelAnnotations | None:
    """Return what this host's Flannel announces, once the host is a node and Flannel has registered."""
    node = find_node(view)
    return view[FLANNEL_ANNOTATIONS].get(node.name) if node else None


@check("vxlan-mac-changed", NODES, IDENTITY, FLANNEL_ANNOTATIONS, LINKS, POD_PATHS)
def mac_changed(view: View) -> Result:
    """Compare the MAC address with the announced one, and look for the neighbour entries of its peers, which a restored
    link lacks."""
    subject, announcement, links = "MAC address of Flannel's link", find_own_announcement(view), view[LINKS]
    if not announcement or not announcement.mac or not links:
        return build_ok_result(subject, "no vxlan link of Flannel on this host")
    if links[0].mac != announcement.mac:
        return Result(subject, f"{announcement.mac}, as announced", links[0].mac)
    peers = [peer for peer in view[POD_PATHS].peers if peer.link == links[0].name]
    if peers and not any(peer.mac for peer in peers):
        return Result(
            subject, "neighbour entries for the other nodes", f"{links[0].mac}, without any entry for another node"
        )
    return build_ok_result(subject, f"{links[0].mac}, as announced")


@check("flannel-wrong-interface", NODES, IDENTITY, FLANNEL_ANNOTATIONS, POD_PATHS)
def wrong_interface(view: View) -> Result:
    """Check the address that Flannel announces. A separate network for pods is not a fault: each node has a unique,
    reachable address in it."""
    subject, node, announcement = "address that Flannel announces", find_node(view), find_own_announcement(view)
    if node is None or announcement is None:
        return build_ok_result(subject, "none: Flannel is not registered on this node")
    if announcement.address == node.address:
        return build_ok_result(subject, f"{node.address}, as of the node")
    node_names = [
        name
        for name, peer_announcement in view[FLANNEL_ANNOTATIONS].items()
        if peer_announcement.address == announcement.address
    ]
    if len(node_names) > 1:
        return Result(
            subject,
            f"a unique one, such as {node.address}",
            f"{announcement.address}, as on {format_value(node_names)}",
        )
    deliveries = find_deliveries(view)
    if set(deliveries.values()) == {"nothing"}:
        # A separate network whose packets are lost for another reason looks the same.
        return Result(
            subject,
            f"a reachable one, such as {node.address}",
            f"{announcement.address}: {format_deliveries(deliveries)}",
            person=describe_overwrite(node.name) if announcement.overwritten else NO_HINT,
            certain=False,
        )
    return build_ok_result(subject, f"{announcement.address}, on a separate network")


def describe_overwrite(node: str) -> Prose:
    """Describe how to take an address back that an annotation gives: Flannel prefers it to its own settings."""
    return Prose("the annotation {} of {} gives it: remove it, and delete the pod of Flannel there", OVERWRITE, node)


@check(
    "vxlan-port-blocked",
    FIREWALL,
    ADDRESS,
    POD_PATHS,
    FLANNEL_ANNOTATIONS,
    LINKS,
    NODES,
    IDENTITY,
    NODE_ROUTES,
    PACKAGES,
    ROUTE_DECISIONS,
    ADDRESSES,
)
def vxlan_blocked(view: View) -> Result:
    """Look for a rule of this host that blocks vxlan, or for a loss between the hosts that neither end explains."""
    if view.spec.flannel.backend != "vxlan":
        return build_ok_result("backend of Flannel", view.spec.flannel.backend)
    subject = f"udp {view.spec.flannel.port} between nodes"
    if vxlan_stops := find_vxlan_stops(view):
        packet, stop = vxlan_stops[0]
        return Result(subject, "allowed", f"{packet} is blocked by {stop}")
    deliveries = find_deliveries(view)
    if not deliveries or set(deliveries.values()) != {"nothing"}:
        return build_ok_result(subject, f"allowed on this host; {format_deliveries(deliveries)}")
    if reason := next(explain_silence(view), ""):
        return build_ok_result(subject, reason)
    # What is left when the known causes are refuted is a guess: the packets may be lost between the hosts.
    return Result(
        subject,
        "allowed between the hosts",
        f"{format_deliveries(deliveries)}, with both ends configured correctly",
        person=Prose("no rule of these hosts blocks it: allow {} in the network between them", subject),
        certain=False,
    )


def index_hosts_by_address(view: View) -> Mapping[str, str]:
    """Index the names of hosts by their node address."""
    return {address: name for name, address in map_peer_addresses(view).items()}


def find_vxlan_stops(view: View) -> list[tuple[Packet, Stop]]:
    port = view.spec.flannel.port
    return [
        (packet, stop) for packet, stop in list_blocked_inbound(view) if (packet.proto, packet.port) == ("udp", port)
    ]


def explain_silence(view: View) -> Iterator[str]:
    """Yield other explanations for a peer from which nothing arrives, in words."""
    paths, announcements = view[POD_PATHS], view[FLANNEL_ANNOTATIONS]
    if has_success(paths.host, "overlay", "bridge"):
        yield "the overlay addresses of other nodes respond to this host"
    ends = {(announcement.address, announcement.mac) for announcement in announcements.values()}
    if len({address for address, _ in ends}) < len(announcements) or len({mac for _, mac in ends}) < len(announcements):
        yield "two nodes announce the same address or MAC"
    yield from list_foreign_addresses(view)
    yield from (
        f"the neighbour entry for {peer.subnet} differs" for peer in paths.peers if (peer.node, peer.mac) not in ends
    )
    hosts_by_address = index_hosts_by_address(view)
    for address in (find_node_address(view), *(peer.node for peer in paths.peers)):
        peer_view = view.select_host(hosts_by_address[address]) if address in hosts_by_address else None
        if peer_view and peer_view.reached and peer_view.has_fact(LINKS) and peer_view.has_fact(FIREWALL):
            yield from find_end_faults(peer_view, announcements)


def list_foreign_addresses(view: View) -> Iterator[str]:
    """List the addresses that Flannel announces and that the host of the node does not have, in words."""
    hosts_by_node = View(view.snapshot, CLUSTER).compute_once(index_hosts_by_node)
    for node, announcement in view[FLANNEL_ANNOTATIONS].items():
        host_view = view.select_host(hosts_by_node[node]) if node in hosts_by_node else None
        if host_view and host_view.has_fact(ADDRESSES):
            own_addresses = {address for addresses in host_view[ADDRESSES].values() for address in addresses}
            if announcement.address not in own_addresses:
                yield f"Flannel of {node} announces {announcement.address}, which no link of its host has"


def find_end_faults(view: View, announcements: Mapping[str, FlannelAnnotations]) -> Iterator[str]:
    """Yield what is wrong with Flannel's link, its routes or the firewall at one end."""
    links = view[LINKS]
    if not links or not links[0].is_up:
        yield f"Flannel's link of {view.location} is down"
    elif links[0].mac not in {announcement.mac for announcement in announcements.values()}:
        yield f"Flannel's link of {view.location} has a different MAC address"
    elif reason := describe_missing_routes(view):
        yield reason
    if view.has_fact(ROUTE_DECISIONS) and any(decision.diverted for decision in view[ROUTE_DECISIONS].decisions):
        yield f"{view.location} does not send packets to pods by Flannel's link"
    if find_vxlan_stops(view):
        yield f"{view.location} blocks it"


@check("vxlan-checksum-offload", CHECKSUMS, ADDRESS)
def checksum_offload(host_view: View) -> Result:
    """Judge the receiving host, whose kernel logs wrong checksums, while a sender still offloads them."""
    subject, checksums = "outer checksums of vxlan", host_view[CHECKSUMS]
    if not checksums.wrong:
        return build_ok_result(subject, "correct, according to the kernel log")
    views = {address: host_view.select_host(name) for address, name in index_hosts_by_address(host_view).items()}
    without_offload = {
        sender for sender, view in views.items() if view.has_fact(CHECKSUMS) and view[CHECKSUMS].offload is False
    }
    if senders := [
        f"{count} from {address}" for address, count in checksums.wrong.items() if address not in without_offload
    ]:
        return Result(subject, "correct", f"incorrect: {format_value(senders)}")
    return build_ok_result(subject, "some were incorrect, but their senders no longer offload them")
