"""Faults of the layer `kubeadm` on one host: remains, addresses, versions, whose cluster it belongs to."""

from gpustack.ask.judge import said
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.config.endpoint import API_PORT
from gpustack.doctor.tells import Told, confirmed, refuted, tells
from gpustack.probes.control_plane import AUTHORITIES
from gpustack.probes.firewall import FIREWALL
from gpustack.probes.kube import NODES, READYZ, VERSION
from gpustack.probes.kubeadm import ADMIN, BOOTSTRAP, CA, CONTROL_PLANE, FILES, KUBELET_CONF, UNFINISHED
from gpustack.probes.kubelet_start import START
from gpustack.probes.network import ADDRESS, LISTENERS, is_taken
from gpustack.probes.packages import PACKAGES
from gpustack.probes.pod_network import POD_PATHS as FROM_PODS
from gpustack.probes.reach import API_PATHS
from gpustack.probes.system import IDENTITY
from gpustack.steps.firewall_packets import let_out, stopped
from gpustack.steps.kubernetes_versions import numbers
from gpustack.steps.own_node import own


def remains(here: View) -> str:
    """What an attempt left that did not come to its end; empty for nothing."""
    files, start = here[FILES], here[START]
    configured = start is not None and start.configured
    if here.host.control_plane:
        if not files.lacks(UNFINISHED):
            return "an initialisation that was broken off"
        left = [path for path in CONTROL_PLANE if path in files.modes]
        return f"{said(left)}, without the rest" if left and files.lacks(*CONTROL_PLANE) and not configured else ""
    if not files.lacks(BOOTSTRAP) or ((not files.lacks(CA) or configured) and files.lacks(KUBELET_CONF)):
        return "a join that was broken off"
    return ""


@tells("kubeadm-stale-state", FILES, START, LISTENERS, AUTHORITIES)
def stale_state(here: View) -> Told:
    """An attempt that was broken off while no API server runs here, or a CA that is not the cluster's."""
    what, left = "what kubeadm left", remains(here)
    if left and not is_taken(here[LISTENERS], API_PORT):
        return confirmed(what, "a member of this cluster, or nothing", left, by=FILES.id)
    if not here.host.control_plane and here[AUTHORITIES].own:
        plane = here.on(here.acting)[AUTHORITIES].own
        if plane and plane != here[AUTHORITIES].own:
            return confirmed(
                what, "a member of this cluster, or nothing", "the CA of another cluster", by=AUTHORITIES.id
            )
    return refuted(what, "nothing that was broken off")


@tells("join-ca-hash-mismatch", AUTHORITIES)
def ca_hash(here: View) -> Told:
    """Of an order to join that is still lying there; what somebody typed leaves no trace."""
    order, plane = here[AUTHORITIES].join, here.on(here.acting)[AUTHORITIES].own
    if not order or not plane:
        return refuted("hash in the order to join", "no order" if not order else "no cluster yet")
    return Told(order != plane, "hash in the order to join", plane[:12], order[:12])


@tells("join-endpoint-unreachable", API_PATHS, READYZ, FIREWALL, ADDRESS, FROM_PODS)
def endpoint(here: View) -> Told:
    """A refusal is the API server's own doing, unless it runs, and so is silence on a connection that is made (to curl
    one without TLS is none). A rule of this host that stops it is why."""
    found = here[API_PATHS]["api"]
    what = f"connection to {found.place}"
    if found.connected or found.ended == 0:
        return refuted(what, "made")
    acting = here.snapshot.reach.get(here.acting)
    if acting is None or not acting.reached:
        raise FactUnavailable("the control plane itself was not reached")
    if found.refused and not here[READYZ].ready:
        return refuted(what, "refused: nobody listens there")
    if here.told(FROM_PODS) and any((way.kind, way.result) == ("api", "ok") for way in here[FROM_PODS].host):
        return refuted(what, "made, and nothing is answered")
    why = found.why or f"curl ended with {found.ended}"
    return confirmed(what, "made", "; ".join([why, *kept_in(here)]))


def kept_in(here: View) -> list[str]:
    """The rule of this host that stops what it sends to the API server; none where that cannot be told."""
    if not (here.told(FIREWALL) and here.told(ADDRESS)):
        return []
    found = stopped(here[FIREWALL], (packet for packet in let_out(here) if packet.port == API_PORT))
    return [f"{packet} is stopped by {stop}" for packet, stop in found[:1]]


@tells("kubelet-wrong-node-ip", NODES, IDENTITY)
def wrong_node_ip(here: View) -> Told:
    """Other than gpustack_node_ip, or also that of another node. Where the inventory names no address, hosts may be
    managed over another one."""
    node, wanted = own(here), here.host.spec.gpustack_node_ip
    if node is None:
        return refuted("address of the node", "the host is no node")
    if wanted and str(wanted) != node.address:
        return confirmed("address of the node", str(wanted), node.address)
    nodes = here[NODES]

    def by_address() -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for one in nodes:
            found.setdefault(one.address, []).append(one.name)
        return found

    alike = here.snapshot.shared("nodes by address", by_address)[node.address]
    twins = [name for name in alike if name != node.name]
    return Told(
        bool(twins), "address of the node", "its own", f"{node.address}{', as ' + said(twins) if twins else ''}"
    )


@tells("kubeconfig-missing-or-stale", AUTHORITIES, FILES)
def kubeconfig(here: View) -> Told:
    """That of root on a control plane; what people have elsewhere nobody here can ask."""
    what, found = "kubeconfig of root", here[AUTHORITIES]
    if here[FILES].lacks(ADMIN):
        return refuted(what, "no control plane here")
    if found.root is None:
        return confirmed(what, "that of this cluster", "none")
    if not found.root or not found.own or found.own in found.root:
        return refuted(what, "that of this cluster" if found.root else "names its CA elsewhere")
    return confirmed(what, "that of this cluster", "with the CA of another one", by=AUTHORITIES.id)


@tells("api-version-skew", VERSION, PACKAGES, NODES, IDENTITY)
def version_skew(here: View) -> Told:
    """By the policy: the kubelet not newer and three minors older at most, kubeadm one minor away at most."""
    api, node, found = numbers(here[VERSION])[1], own(here), here[PACKAGES]
    kubelets = {one for one in ((found["kubelet"] or None) and found["kubelet"].version, node and node.kubelet) if one}
    apart = [f"kubelet {one}" for one in sorted(kubelets) if not api - 3 <= numbers(one)[1] <= api]
    if (kubeadm := found["kubeadm"]) and abs(numbers(kubeadm.version)[1] - api) > 1:
        apart.append(f"kubeadm {kubeadm.version}")
    now = f"{said(apart)} with the API at {here[VERSION]}" if apart else said(kubelets)
    return Told(bool(apart), "versions of Kubernetes", "as near as the policy wants", now)
