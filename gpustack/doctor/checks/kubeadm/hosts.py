"""Faults of the layer `kubeadm` on one host: remains, addresses, versions, and the cluster that it belongs to."""

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import Prose
from gpustack.config.endpoint import API_PORT
from gpustack.doctor.check import check
from gpustack.probes.control_plane.control_plane import AUTHORITIES
from gpustack.probes.control_plane.kubeadm import (
    ADMIN,
    BOOTSTRAP,
    CA,
    CONTROL_PLANE,
    FILES,
    KUBELET_CONF,
    UNFINISHED_CONFIG,
)
from gpustack.probes.firewall.live_rules import FIREWALL
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubelet.join_endpoint import API_PATHS
from gpustack.probes.kubelet.start import START
from gpustack.probes.kubernetes.nodes import NODES, READYZ, VERSION
from gpustack.probes.network.addresses import ADDRESS, LISTENERS, is_taken
from gpustack.probes.network.pod_network import POD_PATHS as FROM_PODS
from gpustack.probes.packages.software import PACKAGES
from gpustack.steps.firewall.packets import find_blocked_packets, list_outbound_packets
from gpustack.steps.kubernetes.versions import parse_version
from gpustack.steps.own_node import find_node


def find_remains(view: View) -> str:
    """Describe the remains of an interrupted attempt, or return an empty text."""
    files, start = view[FILES], view[START]
    is_configured = start is not None and start.has_config
    if view.host.control_plane:
        if not files.lacks(UNFINISHED_CONFIG):
            return "an interrupted initialisation"
        files_present = [path for path in CONTROL_PLANE if path in files.modes]
        if files_present and files.lacks(*CONTROL_PLANE) and not is_configured:
            return f"{format_value(files_present)}, without the rest"
        return ""
    if not files.lacks(BOOTSTRAP) or ((not files.lacks(CA) or is_configured) and files.lacks(KUBELET_CONF)):
        return "an interrupted join"
    return ""


@check("kubeadm-stale-state", FILES, START, LISTENERS, AUTHORITIES)
def stale_state(view: View) -> Result:
    """Look for an interrupted attempt, by the mark of gpustack or while no API server is running on this host, or for
    the CA of another cluster."""
    subject, remains = "state of kubeadm", find_remains(view)
    if remains and (not view[FILES].lacks(UNFINISHED_CONFIG) or not is_taken(view[LISTENERS], API_PORT)):
        return Result(subject, "of this cluster, or none", remains)
    if not view.host.control_plane and view[AUTHORITIES].host_ca:
        plane = view.select_host(view.acting_host)[AUTHORITIES].host_ca
        if plane and plane != view[AUTHORITIES].host_ca:
            return Result(subject, "of this cluster, or none", "the CA of another cluster")
    return build_ok_result(subject, "nothing interrupted")


@check("join-ca-hash-mismatch", AUTHORITIES)
def ca_hash(view: View) -> Result:
    """Compare the CA hash of a join configuration that still exists. A command that was typed leaves no trace."""
    order, plane = view[AUTHORITIES].join, view.select_host(view.acting_host)[AUTHORITIES].host_ca
    if not order or not plane:
        return build_ok_result("CA hash for the join", "no join" if not order else "no cluster yet")
    return Result("CA hash for the join", plane[:12], order[:12], ok=order == plane)


@check("join-endpoint-unreachable", API_PATHS, READYZ, FIREWALL, ADDRESS, FROM_PODS)
def endpoint(view: View) -> Result:
    """Check the connection to the API server. A refused connection is a fault of the API server, unless it is running,
    and so is an established connection without a response. A blocking rule of this host is reported."""
    connection = view[API_PATHS]["api"]
    subject = f"connection to {connection.place}"
    if connection.connected or connection.curl_rc == 0:
        return build_ok_result(subject, "established")
    acting_reach = view.snapshot.reach.get(view.acting_host)
    if acting_reach is None or not acting_reach.reached:
        raise FactUnavailable("the control plane itself was not reached")
    if connection.refused and not view[READYZ].ready:
        return build_ok_result(subject, "refused: nothing listens on the port")
    if view.has_fact(FROM_PODS) and any((path.kind, path.result) == ("api", "ok") for path in view[FROM_PODS].host):
        return build_ok_result(subject, "established, but without a response")
    reason = connection.reason or f"exit status {connection.curl_rc} of curl"
    if rules := find_blocking_rules(view):
        return Result(subject, "established", "; ".join([reason, *rules]))
    # The packets may be lost on the other host, in the network between them, or for a full table of connections.
    person = Prose("no rule of this host blocks it: look at {} and at the network between them", view.acting_host)
    return Result(subject, "established", reason, person=person, certain=False)


def find_blocking_rules(view: View) -> list[str]:
    """Find the rule of this host that blocks packets to the API server. Return an empty list where that is unknown."""
    if not (view.has_fact(FIREWALL) and view.has_fact(ADDRESS)):
        return []
    blocked_packets = find_blocked_packets(
        view[FIREWALL], (packet for packet in list_outbound_packets(view) if packet.port == API_PORT)
    )
    return [f"{packet} is blocked by {stop}" for packet, stop in blocked_packets[:1]]


@check("kubelet-wrong-node-ip", NODES, IDENTITY)
def wrong_node_ip(view: View) -> Result:
    """Compare the address with gpustack_node_ip and with other nodes. Without gpustack_node_ip, hosts may be managed
    over another address."""
    node, node_ip = find_node(view), view.host.spec.gpustack_node_ip
    if node is None:
        return build_ok_result("address of the node", "the host is not a node")
    if node_ip and str(node_ip) != node.address:
        return Result("address of the node", str(node_ip), node.address)
    twins = [name for name in view.compute_once(index_nodes_by_address)[node.address] if name != node.name]
    return Result(
        "address of the node",
        "unique",
        f"{node.address}{', as on ' + format_value(twins) if twins else ''}",
        ok=not twins,
    )


def index_nodes_by_address(view: View) -> dict[str, list[str]]:
    names_by_address: dict[str, list[str]] = {}
    for node in view[NODES]:
        names_by_address.setdefault(node.address, []).append(node.name)
    return names_by_address


@check("kubeconfig-missing-or-stale", AUTHORITIES, FILES)
def kubeconfig(view: View) -> Result:
    """Check root's kubeconfig on a control plane, where kubeadm has finished. Kubeconfigs of other users cannot be
    checked."""
    subject, authorities, files = "kubeconfig of root", view[AUTHORITIES], view[FILES]
    if files.lacks(ADMIN):
        return build_ok_result(subject, "not a control plane")
    if not files.lacks(UNFINISHED_CONFIG):
        return build_ok_result(subject, "copied when kubeadm has finished")
    if authorities.root is None:
        return Result(subject, "that of this cluster", "none")
    if not authorities.root or not authorities.host_ca:
        raise FactUnavailable(f"the CA of {'the cluster' if authorities.root else 'the kubeconfig'} is in another file")
    if authorities.host_ca in authorities.root:
        return build_ok_result(subject, "that of this cluster")
    return Result(subject, "that of this cluster", "CA of another cluster")


@check("api-version-skew", VERSION, PACKAGES, NODES, IDENTITY)
def version_skew(view: View) -> Result:
    """Judge versions by the version skew policy: the kubelet at most three minor versions older and not newer, kubeadm
    at most one away."""
    api, node, packages = parse_version(view[VERSION])[1], find_node(view), view[PACKAGES]
    kubelets = {
        version
        for version in ((packages["kubelet"] or None) and packages["kubelet"].version, node and node.kubelet)
        if version
    }
    skewed_versions = [
        f"kubelet {kubelet}" for kubelet in sorted(kubelets) if not api - 3 <= parse_version(kubelet)[1] <= api
    ]
    if (kubeadm := packages["kubeadm"]) and abs(parse_version(kubeadm.version)[1] - api) > 1:
        skewed_versions.append(f"kubeadm {kubeadm.version}")
    actual = (
        f"{format_value(skewed_versions)} with the API at {view[VERSION]}"
        if skewed_versions
        else format_value(kubelets)
    )
    return Result("versions of Kubernetes", "within the version skew policy", actual, ok=not skewed_versions)
