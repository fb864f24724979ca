"""Evidence in the network of a host: its links, routes, rules and name servers."""

from collections import Counter
from ipaddress import IPv4Network

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.doctor.check import check, expect_none
from gpustack.doctor.checks.node_lookup import list_own_node_entries
from gpustack.doctor.checks.registry import CONNECTION_ERROR, list_waiting_pulls, select_on_own_node
from gpustack.probes.firewall.service_rules import PROXY
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import SYSTEM_PODS
from gpustack.probes.kubernetes.pods import STARTING_PODS
from gpustack.probes.network.addresses import BRIDGE, ROUTES
from gpustack.probes.network.cni import FORWARDING
from gpustack.probes.network.flannel import FLANNEL_ANNOTATIONS
from gpustack.probes.network.pod_network import POD_PATHS


@check("host-no-egress -> st-image-pull-fails", STARTING_PODS, NODES, IDENTITY)
def pulls_reach_nothing(view: View) -> Result:
    """Look for a pull of this node to whose registry no connection was made."""
    pulls = select_on_own_node(view, list_waiting_pulls(view))
    messages = [container.message for _, container in pulls if CONNECTION_ERROR.search(container.message)]
    return expect_none("connections for images", "refused or not needed", messages[:1], "not needed")


@check("host-docker-preinstalled -> forward-policy-drop", FORWARDING)
def docker_sets_policy(view: View) -> Result:
    """Judge the policy of the chain FORWARD, which Docker sets to DROP (moby daemon/libnetwork/iptables)."""
    policy = view[FORWARDING].policy
    return Result("policy of FORWARD", "ACCEPT", policy or "none", ok=policy != "DROP")


@check("host-iptables-legacy-nft-mix -> st-service-ip-broken", PROXY)
def services_in_both_backends(view: View) -> Result:
    return judge_backends(view)


@check("host-iptables-legacy-nft-mix -> st-dns-broken", PROXY)
def names_in_both_backends(view: View) -> Result:
    return judge_backends(view)


def judge_backends(view: View) -> Result:
    """Look for rules of Services in both backends: the first one that has a rule for an address decides."""
    proxy = view[PROXY]
    backends = {"iptables-legacy": proxy.legacy.services, "iptables-nft": proxy.nft.services or proxy.table}
    names = [name for name, has_rules in backends.items() if has_rules]
    return Result("rules of Services", "in one backend", f"in {format_value(names)}", ok=len(names) < 2)


@check("host-networkmanager-owns-cni -> st-pod-net-broken", BRIDGE)
def bridge_lost_address(view: View) -> Result:
    return judge_bridge(view)


@check("host-networkmanager-owns-cni -> st-api-from-pods-timeout", BRIDGE)
def gateway_lost_address(view: View) -> Result:
    return judge_bridge(view)


@check("host-networkmanager-owns-cni -> st-dns-broken", BRIDGE)
def resolver_lost_address(view: View) -> Result:
    return judge_bridge(view)


def judge_bridge(view: View) -> Result:
    """Judge whether the bridge of pods has its address, which a manager removes that configures the link."""
    addresses = view[BRIDGE]
    return Result("address of cni0", "present", format_value(addresses), ok=bool(addresses))


@check("host-duplicate-identity -> st-pod-net-broken", FLANNEL_ANNOTATIONS)
def nodes_share_link_address(view: View) -> Result:
    """Look for a MAC address that two nodes announce: the kernel derives it from the machine-id."""
    counts = Counter(announcement.mac for announcement in view[FLANNEL_ANNOTATIONS].values() if announcement.mac)
    shared_addresses = sorted(mac for mac, count in counts.items() if count > 1)
    return expect_none("MAC addresses of several nodes", "none", shared_addresses, "none")


@check("cidr-overlaps-host-network -> st-pod-net-broken", ROUTES, POD_PATHS)
def route_takes_peers(view: View) -> Result:
    """Look for a route of another link into the part of the pod network of another node."""
    peers = [IPv4Network(peer.subnet) for peer in view[POD_PATHS].peers]
    networks = [IPv4Network(route.network) for route in view[ROUTES]]
    overlaps = [str(network) for network in networks if any(network.overlaps(peer) for peer in peers)]
    return expect_none("routes into the networks of other nodes", "none", overlaps, "none")


@check("host-resolv-stub-loop -> st-dns-broken", SYSTEM_PODS, NODES, IDENTITY)
def resolver_ended(view: View) -> Result:
    """Look for a CoreDNS of this node whose container ended with an error: its plugin loop ends it (coredns
    plugin/loop)."""
    pods = [
        pod
        for pod in list_own_node_entries(view, SYSTEM_PODS)
        if pod.app == "kube-dns" or pod.name.startswith("coredns-")
    ]
    names = [pod.name for pod in pods for container in pod.containers if container.exit_code and not container.ready]
    return expect_none("containers of CoreDNS that ended with an error", "none", names, "none")
