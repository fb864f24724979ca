"""Faults of the layer `cni` in the delivery of packets to other nodes, asked from pods, and by packet size.

One pod that is reached is enough: another may have ended since, or a network policy may refuse the packet.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.cni.node_routes import describe_missing_routes
from gpustack.doctor.checks.node_lookup import OPERATOR, list_app_nodes
from gpustack.probes.host.recent_changes import PACKAGES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import MONITORING_PODS
from gpustack.probes.network.flannel import FLANNELD, NODE_ROUTES
from gpustack.probes.network.mtus import MTUS, Mtus
from gpustack.probes.network.pod_network import POD_PATHS, NetworkPath, NetworkPaths, Peer
from gpustack.steps.own_node import find_node

Delivery = Literal["all", "small", "nothing"]
WORDS: Mapping[Delivery, str] = {
    "all": "delivered to {}",
    "small": "those as long as the MTU dropped to {} (small packets are delivered)",
    "nothing": "dropped to {}",
}
SUBJECT = "packets to other nodes"
MOST_LINKS = 4
OVERHEADS = {"vxlan": 50, "wireguard": 60}
"""Bytes that a backend adds to each packet of IPv4 (flannel pkg/backend/vxlan and wireguard)."""


def find_deliveries(view: View) -> Mapping[str, Delivery]:
    """Return what is delivered to each peer, by its part of the pod network, without peers whose state is unknown."""
    pod_paths = view[POD_PATHS]
    deliveries = ((peer.subnet, find_delivery(pod_paths, peer)) for peer in pod_paths.peers)
    return {subnet: delivery for subnet, delivery in deliveries if delivery}


def find_delivery(pod_paths: NetworkPaths, peer: Peer) -> Delivery | None:
    """Return what is delivered to a peer, or None for a node that is silent itself, and for one without a known pod
    that answers no echo at all."""
    node = [path for path in pod_paths.host if path.target.partition(":")[0] == peer.node]
    if peer.node and not any(path.result in ("ok", "refused") for path in node):
        return None
    paths = [path for path in pod_paths.list_paths(*TO_PEERS) if peer.holds(path.target)]
    to_pods = [path for path in paths if path.kind in POD_KINDS]
    if not has_success(to_pods or paths, *POD_KINDS, "bridge", "overlay"):
        return "nothing" if to_pods or has_success(node, "echo") else None
    # Without an answer to a small echo, a large one is no evidence. A packet that the own link refused was not lost.
    large_paths = [path for path in paths if path.kind in LARGE_KINDS and path.result != "too-large"]
    return (
        "small"
        if large_paths and has_success(paths, "pod-echo", "bridge") and not has_success(large_paths, *LARGE_KINDS)
        else "all"
    )


POD_KINDS, LARGE_KINDS = ("pod", "pod-echo"), ("pod-large", "bridge-large")
TO_PEERS = (*POD_KINDS, *LARGE_KINDS, "bridge", "overlay")


def has_success(paths: Iterable[NetworkPath], *kinds: str) -> bool:
    return any(path.result == "ok" for path in paths if path.kind in kinds)


def require_deliveries(view: View) -> Mapping[str, Delivery]:
    """Return the deliveries. Raise FactUnavailable where there are other nodes and none of them could be asked."""
    deliveries = find_deliveries(view)
    if view[POD_PATHS].peers and not deliveries:
        raise FactUnavailable("none of the other nodes responds")
    return deliveries


def format_deliveries(deliveries: Mapping[str, Delivery]) -> str:
    if deliveries:
        return format_value([WORDS[delivery].format(subnet) for subnet, delivery in deliveries.items()])
    return "no other node"


@check("st-pod-net-broken", POD_PATHS, NODES, IDENTITY, NODE_ROUTES, PACKAGES)
def pod_net_broken(view: View) -> Result:
    """Judge the deliveries from pods of this host, or from the host itself if it has none. A route that is missing is
    named."""
    deliveries = require_deliveries(view)
    if not set(deliveries.values()) - {"all"}:
        return build_ok_result(SUBJECT, format_deliveries(deliveries))
    routes = describe_missing_routes(view)
    return Result(SUBJECT, "delivered", "; ".join(filter(None, (format_deliveries(deliveries), routes))))


@check("mtu-too-large", POD_PATHS, MTUS)
def mtu_too_large(view: View) -> Result:
    """Check that large packets are delivered. A smaller MTU of a link alone is not a fault, because the kernel
    fragments. This host is at fault if large packets are lost to all reachable nodes; if one node receives them, the
    fault is on the others. Lost packets do not prove a size: a firewall that drops fragments loses them, too. The MTUs
    of the hosts prove it where they differ, or where one is too small for the packets of pods."""
    deliveries = require_deliveries(view)
    subject = "packets of the pod network's MTU to other nodes"
    sizes = set(deliveries.values()) - {"nothing"}
    if sizes == {"small"}:
        difference = describe_mtus(view)
        actual = "; ".join(filter(None, (format_deliveries(deliveries), difference)))
        return Result(subject, "delivered", actual, quote="-large timeout", certain=bool(difference))
    return build_ok_result(subject, format_deliveries(deliveries))


def describe_mtus(view: View) -> str:
    """Describe links of hosts whose MTU is too small for the packets of pods, or else MTUs in which this host differs
    from others. Return an empty text for neither, or where they are unknown."""
    mtus_by_host = view.compute_once(index_mtus)
    own_mtus = mtus_by_host.get(view.location)
    overhead = OVERHEADS.get(view.spec.flannel.backend, 0)
    small_mtus = [
        f"{mtus.link} of {host} has an MTU of {mtus.outer}, and {name} needs {mtu + overhead}"
        for host, mtus in mtus_by_host.items()
        for name, mtu in mtus.pods.items()
        if mtus.outer < mtu + overhead
    ]
    different_mtus = [
        f"{mtus.outer} on {host}" for host, mtus in mtus_by_host.items() if own_mtus and mtus.outer != own_mtus.outer
    ]
    if small_mtus or not (own_mtus and different_mtus):
        return "; ".join(small_mtus[:MOST_LINKS])
    return f"the MTU of {own_mtus.link} is {own_mtus.outer}, and {', '.join(different_mtus[:MOST_LINKS])}"


def index_mtus(view: View) -> Mapping[str, Mtus]:
    """Index the MTUs by host. A host of which they are unknown is left out."""
    host_views = (view.select_host(host.name) for host in view.hosts)
    return {host_view.location: host_view[MTUS] for host_view in host_views if host_view.has_fact(MTUS)}


def judge_dns_servers(view: View, *, own: bool) -> Result:
    """Judge whether the addresses of CoreDNS that kube-proxy knows are on this host (`own`) or on another one."""
    paths = view[POD_PATHS]
    if not paths.subnet:
        return build_ok_result("pods", "none on this host")
    own_peer = Peer(paths.subnet, "", "", "", "")
    servers = [path.target for path in paths.host if path.kind == "dns"][1:]
    if not servers:
        raise FactUnavailable("kube-proxy has no endpoint of CoreDNS")
    matching_servers = [server for server in servers if own_peer.holds(server) is own]
    return Result(
        "CoreDNS", "on this node" if own else "on another node", format_value(servers), ok=not matching_servers
    )


@check("bridge-nf-call-off -> st-dns-broken", POD_PATHS)
def dns_on_this_node(view: View) -> Result:
    return judge_dns_servers(view, own=True)


@check("st-pod-net-broken -> st-dns-broken", POD_PATHS)
def dns_on_another_node(view: View) -> Result:
    return judge_dns_servers(view, own=False)


@check("st-pod-net-broken -> st-api-from-pods-timeout", FLANNELD)
def sends_unmasked(view: View) -> Result:
    """Check the source address of pod traffic. With the node's address, traffic to the API and the responses do not use
    the overlay."""
    flanneld = view[FLANNELD]
    if view.host.control_plane:
        return build_ok_result("host", "a control plane, with its own API server")
    return Result(
        "source address of pod traffic", "the node's", format_value(flanneld.masquerades), ok=bool(flanneld.masquerades)
    )


@check("st-pod-net-broken -> mon-admission-webhook-down", MONITORING_PODS, NODES, IDENTITY)
def operator_elsewhere(view: View) -> Result:
    """Check that the Prometheus operator runs on a control plane, because the API server calls it from its own host."""
    nodes = (find_node(view.select_host(host.name)) for host in view.snapshot.inventory.control_planes)
    planes = {node.name for node in nodes if node}
    operator_nodes = list_app_nodes(view, OPERATOR)
    return Result(
        "Prometheus operator", "on a worker", format_value(operator_nodes), ok=not (set(operator_nodes) - planes)
    )
