"""Layer `cni`: what of the packets to other nodes arrives, asked from pods, and whether it is their size that loses
them. One pod that is reached is enough: another may have ended since, or keep its door shut."""

from collections.abc import Iterable, Mapping
from typing import Literal

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pods import MONITORING_PODS, OPERATOR
from gpustack.probes.network.flannel import FLANNELD
from gpustack.probes.network.pod_network import POD_PATHS, Peer, Way, Ways
from gpustack.steps.own_node import own

Delivery = Literal["all", "small", "nothing"]
WORDS: Mapping[Delivery, str] = {"all": "arrives", "small": "only small packets arrive", "nothing": "nothing arrives"}
WHAT = "packets to other nodes"


def find_deliveries(here: View) -> Mapping[str, Delivery]:
    """What of packets arrives, by the peer's part of the pod network; without those whose state is unknown."""
    found = here[POD_PATHS]
    judged = ((peer.subnet, find_delivery(found, peer)) for peer in found.peers)
    return {subnet: one for subnet, one in judged if one}


def find_delivery(found: Ways, peer: Peer) -> Delivery | None:
    """None for a node that is silent itself, and for one without a known pod where no echo at all comes back."""
    node = [way for way in found.host if way.target.partition(":")[0] == peer.node]
    if peer.node and not any(way.result in ("ok", "refused") for way in node):
        return None
    ways = [way for way in found.of(*TO_PEERS) if peer.holds(way.target)]
    to_pods = [way for way in ways if way.kind in POD]
    if not passed(to_pods or ways, *POD, "bridge", "overlay"):
        return "nothing" if to_pods or passed(node, "echo") else None
    # Of an echo that is never answered, a large one says nothing; what the own link did not take was not lost.
    large = [way for way in ways if way.kind in LARGE and way.result != "too-large"]
    return "small" if large and passed(ways, "pod-echo", "bridge") and not passed(large, *LARGE) else "all"


POD, LARGE = ("pod", "pod-echo"), ("pod-large", "bridge-large")
TO_PEERS = (*POD, *LARGE, "bridge", "overlay")


def passed(ways: Iterable[Way], *kinds: str) -> bool:
    return any(way.result == "ok" for way in ways if way.kind in kinds)


def require_deliveries(here: View) -> Mapping[str, Delivery]:
    """Raises FactUnavailable where there are other nodes and none of them could be asked."""
    found = find_deliveries(here)
    if here[POD_PATHS].peers and not found:
        raise FactUnavailable("none of the other nodes that were asked is there")
    return found


def format_deliveries(found: Mapping[str, Delivery]) -> str:
    return (
        as_text([f"to {subnet} {WORDS[one]}" for subnet, one in found.items()]) if found else "there is no other node"
    )


@check("st-pod-net-broken", POD_PATHS)
def pod_net_broken(here: View) -> Result:
    """From pods of this host, or from the host where it has none."""
    found = require_deliveries(here)
    return Result(WHAT, "arrive", format_deliveries(found), ok=not (set(found.values()) - {"all"}))


@check("mtu-too-large", POD_PATHS)
def mtu_too_large(here: View) -> Result:
    """Links with smaller numbers alone are no fault: the kernel splits what it wraps. Here where it is so to every node
    that is reached: with one that gets large packets too, it is the other's fault."""
    found = require_deliveries(here)
    sizes = set(found.values()) - {"nothing"}
    if sizes == {"small"}:
        return Result("large packets to other nodes", "arrive", format_deliveries(found), quote="-large timeout")
    return ok("large packets to other nodes", format_deliveries(found))


def dns_servers(here: View, *, own: bool) -> Result:
    """Addresses of CoreDNS that kube-proxy knows, by whether they are on this host."""
    ways = here[POD_PATHS]
    if not ways.own:
        return ok("pods", "none on this host")
    mine = Peer(ways.own, "", "", "", "")
    servers = [way.target for way in ways.host if way.kind == "dns"][1:]
    if not servers:
        raise FactUnavailable("kube-proxy knows no pod of CoreDNS")
    found = [one for one in servers if mine.holds(one) is own]
    return Result("CoreDNS", "on this node" if own else "on another node", as_text(servers), ok=not found)


@check("bridge-nf-call-off -> st-dns-broken", POD_PATHS)
def dns_on_this_node(here: View) -> Result:
    return dns_servers(here, own=True)


@check("st-pod-net-broken -> st-dns-broken", POD_PATHS)
def dns_on_another_node(here: View) -> Result:
    return dns_servers(here, own=False)


@check("st-pod-net-broken -> st-api-from-pods-timeout", FLANNELD)
def sends_unmasked(here: View) -> Result:
    """With the node's own address, what pods send to the API does not go through the overlay, nor does its answer."""
    found = here[FLANNELD]
    if here.host.control_plane:
        return ok("host", "a control plane: the API is on it")
    return Result("what pods send has", "the node's address", as_text(found.masquerades), ok=bool(found.masquerades))


@check("st-pod-net-broken -> mon-admission-webhook-down", MONITORING_PODS, NODES, IDENTITY)
def operator_elsewhere(here: View) -> Result:
    """The API server calls the operator of Prometheus from its own host."""
    nodes = (own(here.on(host.name)) for host in here.snapshot.inventory.control_planes)
    planes = {node.name for node in nodes if node}
    found = here[MONITORING_PODS].get(OPERATOR, ())
    return Result("operator of Prometheus", "on a worker", as_text(found), ok=not (set(found) - planes))


CHECKS = (pod_net_broken, mtu_too_large, dns_on_this_node, dns_on_another_node, sends_unmasked, operator_elsewhere)
