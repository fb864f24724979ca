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
            return "an initialisation that was broken off"
        left = [path for path in CONTROL_PLANE if path in files.modes]
        return f"{as_text(left)}, without the rest" if left and files.lacks(*CONTROL_PLANE) and not configured else ""
    if not files.lacks(BOOTSTRAP) or ((not files.lacks(CA) or configured) and files.lacks(KUBELET_CONF)):
        return "a join that was broken off"
    return ""


@check("kubeadm-stale-state", FILES, START, LISTENERS, AUTHORITIES)
def stale_state(here: View) -> Result:
    """An attempt that was broken off while no API server runs here, or a CA that is not the cluster's."""
    what, left = "what kubeadm left", remains(here)
    if left and not is_taken(here[LISTENERS], API_PORT):
        return Result(what, "a member of this cluster, or nothing", left)
    if not here.host.control_plane and here[AUTHORITIES].own:
        plane = here.on(here.acting)[AUTHORITIES].own
        if plane and plane != here[AUTHORITIES].own:
            return Result(what, "a member of this cluster, or nothing", "the CA of another cluster")
    return ok(what, "nothing that was broken off")


@check("join-ca-hash-mismatch", AUTHORITIES)
def ca_hash(here: View) -> Result:
    """Of an order to join that is still lying there; what somebody typed leaves no trace."""
    order, plane = here[AUTHORITIES].join, here.on(here.acting)[AUTHORITIES].own
    if not order or not plane:
        return ok("hash in the order to join", "no order" if not order else "no cluster yet")
    return Result("hash in the order to join", plane[:12], order[:12], ok=order == plane)


@check("join-endpoint-unreachable", API_PATHS, READYZ, FIREWALL, ADDRESS, FROM_PODS)
def endpoint(here: View) -> Result:
    """A refusal is the API server's own doing, unless it runs, and so is silence on a connection that is made (to curl
    one without TLS is none). A rule of this host that stops it is why."""
    found = here[API_PATHS]["api"]
    what = f"connection to {found.place}"
    if found.connected or found.ended == 0:
        return ok(what, "made")
    acting = here.snapshot.reach.get(here.acting)
    if acting is None or not acting.reached:
        raise FactUnavailable("the control plane itself was not reached")
    if found.refused and not here[READYZ].ready:
        return ok(what, "refused: nobody listens there")
    if here.available(FROM_PODS) and any((way.kind, way.result) == ("api", "ok") for way in here[FROM_PODS].host):
        return ok(what, "made, and nothing is answered")
    why = found.why or f"curl ended with {found.ended}"
    return Result(what, "made", "; ".join([why, *kept_in(here)]))


def kept_in(here: View) -> list[str]:
    """The rule of this host that stops what it sends to the API server; none where that is unknown."""
    if not (here.available(FIREWALL) and here.available(ADDRESS)):
        return []
    found = stopped(here[FIREWALL], (packet for packet in let_out(here) if packet.port == API_PORT))
    return [f"{packet} is stopped by {stop}" for packet, stop in found[:1]]


@check("kubelet-wrong-node-ip", NODES, IDENTITY)
def wrong_node_ip(here: View) -> Result:
    """Other than gpustack_node_ip, or also that of another node. Where the inventory names no address, hosts may be
    managed over another one."""
    node, wanted = own(here), here.host.spec.gpustack_node_ip
    if node is None:
        return ok("address of the node", "the host is no node")
    if wanted and str(wanted) != node.address:
        return Result("address of the node", str(wanted), node.address)
    twins = [name for name in here.once(nodes_by_address)[node.address] if name != node.name]
    return Result(
        "address of the node",
        "its own",
        f"{node.address}{', as ' + as_text(twins) if twins else ''}",
        ok=not twins,
    )


def nodes_by_address(here: View) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in here[NODES]:
        found.setdefault(one.address, []).append(one.name)
    return found


@check("kubeconfig-missing-or-stale", AUTHORITIES, FILES)
def kubeconfig(here: View) -> Result:
    """That of root on a control plane; what people have elsewhere nobody here can ask."""
    what, found = "kubeconfig of root", here[AUTHORITIES]
    if here[FILES].lacks(ADMIN):
        return ok(what, "no control plane here")
    if found.root is None:
        return Result(what, "that of this cluster", "none")
    if not found.root or not found.own or found.own in found.root:
        return ok(what, "that of this cluster" if found.root else "names its CA elsewhere")
    return Result(what, "that of this cluster", "with the CA of another one")


@check("api-version-skew", VERSION, PACKAGES, NODES, IDENTITY)
def version_skew(here: View) -> Result:
    """By the policy: the kubelet not newer and three minors older at most, kubeadm one minor away at most."""
    api, node, found = numbers(here[VERSION])[1], own(here), here[PACKAGES]
    kubelets = {one for one in ((found["kubelet"] or None) and found["kubelet"].version, node and node.kubelet) if one}
    apart = [f"kubelet {one}" for one in sorted(kubelets) if not api - 3 <= numbers(one)[1] <= api]
    if (kubeadm := found["kubeadm"]) and abs(numbers(kubeadm.version)[1] - api) > 1:
        apart.append(f"kubeadm {kubeadm.version}")
    now = f"{as_text(apart)} with the API at {here[VERSION]}" if apart else as_text(kubelets)
    return Result("versions of Kubernetes", "as near as the policy wants", now, ok=not apart)


CHECKS = (stale_state, ca_hash, endpoint, wrong_node_ip, kubeconfig, version_skew)
