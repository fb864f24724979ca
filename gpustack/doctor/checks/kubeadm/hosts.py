"""Faults of the layer `kubeadm` on one host: remains, addresses, versions, whose cluster it belongs to."""

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.config.endpoint import API_PORT
from gpustack.doctor.check import check
from gpustack.probes.control_plane.control_plane import AUTHORITIES
from gpustack.probes.control_plane.kubeadm import ADMIN, BOOTSTRAP, CA, CONTROL_PLANE, FILES, KUBELET_CONF, UNFINISHED
from gpustack.probes.firewall.live import FIREWALL
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubelet.join_endpoint import API_PATHS
from gpustack.probes.kubelet.start import START
from gpustack.probes.kubernetes.nodes import NODES, READYZ, VERSION
from gpustack.probes.network.addresses import ADDRESS, LISTENERS, is_taken
from gpustack.probes.network.pod_network import POD_PATHS as FROM_PODS
from gpustack.probes.packages.software import PACKAGES
from gpustack.steps.firewall.packets import let_out, stopped
from gpustack.steps.kubernetes.versions import numbers
from gpustack.steps.own_node import own


def remains(here: View) -> str:
    """What an attempt left that did not come to its end; empty for nothing."""
    files, start = here[FILES], here[START]
    configured = start is not None and start.configured
    if here.host.control_plane:
        if not files.lacks(UNFINISHED):
            return "an interrupted initialisation"
        left = [path for path in CONTROL_PLANE if path in files.modes]
        return f"{as_text(left)}, without the rest" if left and files.lacks(*CONTROL_PLANE) and not configured else ""
    if not files.lacks(BOOTSTRAP) or ((not files.lacks(CA) or configured) and files.lacks(KUBELET_CONF)):
        return "an interrupted join"
    return ""


@check("kubeadm-stale-state", FILES, START, LISTENERS, AUTHORITIES)
def stale_state(here: View) -> Result:
    """An interrupted attempt, by our mark or while no API server is running on this host, or the CA of another
    cluster."""
    what, left = "state of kubeadm", remains(here)
    if left and (not here[FILES].lacks(UNFINISHED) or not is_taken(here[LISTENERS], API_PORT)):
        return Result(what, "of this cluster, or none", left)
    if not here.host.control_plane and here[AUTHORITIES].own:
        plane = here.on(here.acting)[AUTHORITIES].own
        if plane and plane != here[AUTHORITIES].own:
            return Result(what, "of this cluster, or none", "the CA of another cluster")
    return ok(what, "nothing interrupted")


@check("join-ca-hash-mismatch", AUTHORITIES)
def ca_hash(here: View) -> Result:
    """Of a join configuration that still exists; a command that was typed leaves no trace."""
    order, plane = here[AUTHORITIES].join, here.on(here.acting)[AUTHORITIES].own
    if not order or not plane:
        return ok("CA hash for the join", "no join" if not order else "no cluster yet")
    return Result("CA hash for the join", plane[:12], order[:12], ok=order == plane)


@check("join-endpoint-unreachable", API_PATHS, READYZ, FIREWALL, ADDRESS, FROM_PODS)
def endpoint(here: View) -> Result:
    """A refused connection is a fault of the API server, unless it is running, and so is an established connection
    without a response. A blocking rule of this host is reported."""
    found = here[API_PATHS]["api"]
    what = f"connection to {found.place}"
    if found.connected or found.ended == 0:
        return ok(what, "established")
    acting = here.snapshot.reach.get(here.acting)
    if acting is None or not acting.reached:
        raise FactUnavailable("the control plane itself was not reached")
    if found.refused and not here[READYZ].ready:
        return ok(what, "refused: nothing listens on the port")
    if here.available(FROM_PODS) and any((way.kind, way.result) == ("api", "ok") for way in here[FROM_PODS].host):
        return ok(what, "established, but without a response")
    why = found.why or f"exit status {found.ended} of curl"
    return Result(what, "established", "; ".join([why, *kept_in(here)]))


def kept_in(here: View) -> list[str]:
    """The rule of this host that stops what it sends to the API server; none where that is unknown."""
    if not (here.available(FIREWALL) and here.available(ADDRESS)):
        return []
    found = stopped(here[FIREWALL], (packet for packet in let_out(here) if packet.port == API_PORT))
    return [f"{packet} is blocked by {stop}" for packet, stop in found[:1]]


@check("kubelet-wrong-node-ip", NODES, IDENTITY)
def wrong_node_ip(here: View) -> Result:
    """Different from gpustack_node_ip, or the same as that of another node. Without gpustack_node_ip, hosts may be
    managed over another address."""
    node, wanted = own(here), here.host.spec.gpustack_node_ip
    if node is None:
        return ok("address of the node", "the host is not a node")
    if wanted and str(wanted) != node.address:
        return Result("address of the node", str(wanted), node.address)
    twins = [name for name in here.once(nodes_by_address)[node.address] if name != node.name]
    return Result(
        "address of the node",
        "unique",
        f"{node.address}{', as on ' + as_text(twins) if twins else ''}",
        ok=not twins,
    )


def nodes_by_address(here: View) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in here[NODES]:
        found.setdefault(one.address, []).append(one.name)
    return found


@check("kubeconfig-missing-or-stale", AUTHORITIES, FILES)
def kubeconfig(here: View) -> Result:
    """root's on a control plane, where kubeadm has finished; kubeconfigs of other users cannot be checked."""
    what, found, files = "kubeconfig of root", here[AUTHORITIES], here[FILES]
    if files.lacks(ADMIN):
        return ok(what, "not a control plane")
    if not files.lacks(UNFINISHED):
        return ok(what, "copied when kubeadm has finished")
    if found.root is None:
        return Result(what, "that of this cluster", "none")
    if not found.root or not found.own or found.own in found.root:
        return ok(what, "that of this cluster" if found.root else "refers to a CA file")
    return Result(what, "that of this cluster", "CA of another cluster")


@check("api-version-skew", VERSION, PACKAGES, NODES, IDENTITY)
def version_skew(here: View) -> Result:
    """By the version skew policy: the kubelet at most three minor versions older and not newer, kubeadm at most one
    away."""
    api, node, found = numbers(here[VERSION])[1], own(here), here[PACKAGES]
    kubelets = {one for one in ((found["kubelet"] or None) and found["kubelet"].version, node and node.kubelet) if one}
    apart = [f"kubelet {one}" for one in sorted(kubelets) if not api - 3 <= numbers(one)[1] <= api]
    if (kubeadm := found["kubeadm"]) and abs(numbers(kubeadm.version)[1] - api) > 1:
        apart.append(f"kubeadm {kubeadm.version}")
    now = f"{as_text(apart)} with the API at {here[VERSION]}" if apart else as_text(kubelets)
    return Result("versions of Kubernetes", "within the version skew policy", now, ok=not apart)


CHECKS = (stale_state, ca_hash, endpoint, wrong_node_ip, kubeconfig, version_skew)
