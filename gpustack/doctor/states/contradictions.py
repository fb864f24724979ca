"""Settings that contradict what a host or another program has: addresses that no link has, what Flannel announces, and
objects that a setting names and that do not exist."""

from collections.abc import Iterator
from ipaddress import IPv4Network
from urllib.parse import urlsplit

from gpustack.ask.judge import format_value
from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.checks.control_plane import ANY_ADDRESS, serves_address
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.scraped_objects import DATA_SOURCE, has_monitoring
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.control_plane.control_plane import MANIFEST_ADDRESSES
from gpustack.probes.gpu.settings import EXPORTERS, GPU_CONFIG_MAPS, SETTINGS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.monitoring.grafana import DATA_SOURCES
from gpustack.probes.monitoring.workloads import PROMETHEUSES
from gpustack.probes.network.addresses import ADDRESSES
from gpustack.probes.network.flannel import FLANNEL_ANNOTATIONS, LINKS, NET_CONF

MANIFESTS = "/etc/kubernetes/manifests"
LOCALHOST = "localhost"
SHOW_MANIFESTS = Command("grep", "-E", "advertise-address|etcd-servers|listen-", "-r", MANIFESTS)
SHOW_ANNOTATIONS = Command("kubectl", "get", "nodes", "-o", "yaml")


def observe_manifests(view: View) -> Iterator[AbnormalState]:
    """Compare the addresses on which etcd listens with those of the host's links, and with those at which its API
    server asks for etcd. The address of the API may belong to a router."""
    manifests = view[MANIFEST_ADDRESSES]
    own_addresses = {address for addresses in view[ADDRESSES].values() for address in addresses}
    for address in sorted({*manifests.etcd} - own_addresses - {ANY_ADDRESS}):
        message = f"etcd is to listen on {address}, which no link of the host has"
        yield build_state(view.location, "broken", "static pods", message, SHOW_MANIFESTS)
    listeners = manifests.client_listeners
    servers = [server for server in manifests.etcd_servers if is_own(server, own_addresses)]
    if listeners and (unserved_servers := [server for server in servers if not serves_address(manifests, server)]):
        message = (
            f"the API server asks etcd at {format_value(unserved_servers)}; etcd listens at {format_value(listeners)}"
        )
        yield build_state(view.location, "broken", "static pods", message, SHOW_MANIFESTS)


def is_own(server: str, own_addresses: set[str]) -> bool:
    """Tell whether an etcd is on the host itself. The listeners of another one are unknown."""
    return server.rpartition(":")[0] in {LOCALHOST, *own_addresses}


def observe_announcements(view: View) -> Iterator[AbnormalState]:
    """List nodes whose Flannel announces the same address as another one, an address that the host does not have, or
    another MAC address than its link has."""
    nodes_by_address: dict[str, list[str]] = {}
    for name, announcement in view[FLANNEL_ANNOTATIONS].items():
        nodes_by_address.setdefault(announcement.address, []).append(name)
    for name, announcement in view[FLANNEL_ANNOTATIONS].items():
        host = locate_node(view, name)
        subject = f"node {name}, Flannel"
        if len(node_names := nodes_by_address[announcement.address]) > 1:
            message = f"it announces {announcement.address}, as those of {format_value(node_names)} do"
            yield build_state(host, "broken", subject, message, SHOW_ANNOTATIONS)
        elif (addresses := list_addresses(view, host)) and announcement.address not in addresses:
            message = (
                f"it announces {announcement.address}, which no link of the host has: other nodes send packets for its "
                "pods there. Only an address of a router in front of the host is set so, with public-ip-overwrite"
            )
            yield build_state(host, "risk", subject, message, SHOW_ANNOTATIONS)
        links = view.select_host(host)[LINKS] if host != CLUSTER and view.select_host(host).has_fact(LINKS) else ()
        if links and announcement.mac and links[0].mac != announcement.mac:
            message = f"it announces the MAC address {announcement.mac}; {links[0].name} has {links[0].mac}"
            yield build_state(host, "broken", subject, message, Command("ip", "link", "show", links[0].name))


def list_addresses(view: View, host: str) -> set[str]:
    """List the addresses of a host's links, none where they are unknown."""
    host_view = view.select_host(host) if host != CLUSTER else None
    links = host_view[ADDRESSES].values() if host_view and host_view.has_fact(ADDRESSES) else ()
    return {address for addresses in links for address in addresses}


def observe_network(view: View) -> Iterator[AbnormalState]:
    """List nodes whose podCIDR is outside of Flannel's network."""
    conf = view[NET_CONF]
    for node in view[NODES] if conf else ():
        if conf and node.pod_cidr and not IPv4Network(node.pod_cidr).subnet_of(IPv4Network(conf.network)):
            message = f'Flannel has "Network": "{conf.network}", and the podCIDR {node.pod_cidr} is outside of it'
            command = Command("kubectl", "-n", "kube-flannel", "get", "configmap", "kube-flannel-cfg", "-o", "yaml")
            yield build_state(locate_node(view, node.name), "broken", f"node {node.name}, Flannel", message, command)


def observe_references(view: View) -> Iterator[AbnormalState]:
    """List ConfigMaps that the ClusterPolicy or the exporter names, and that do not exist. A pod that mounts one does
    not start."""
    settings, namespace = view[SETTINGS] or (), view.spec.gpu.namespace
    references = {
        "the device plugin": {entry.plugin_config for entry in settings},
        "the GPU exporter": {entry.counters_config for entry in settings} | {pod.config_map for pod in view[EXPORTERS]},
    }
    for user, names in references.items():
        for name in sorted(names - {"", *view[GPU_CONFIG_MAPS]}):
            message = f"{user} is configured to read it, and it does not exist"
            command = Command("kubectl", "-n", namespace, "get", "configmaps")
            yield build_state(CLUSTER, "broken", f"configmap {namespace}/{name}", message, command)


def observe_prefixes(view: View) -> Iterator[AbnormalState]:
    """Compare the path below which Prometheus serves with that at which Grafana asks it. Of others it says 404."""
    urls = [urlsplit(source.url) for source in view[DATA_SOURCES] if source.uid == DATA_SOURCE]
    monitoring = view.spec.monitoring
    paths = {
        url.path.rstrip("/") for url in urls if (url.hostname or "").startswith(f"{monitoring.release}-prometheus")
    }
    for name, prometheus in (view[PROMETHEUSES] or {}).items():
        if paths and prometheus.prefix is not None and prometheus.prefix.rstrip("/") not in paths:
            message = (
                f"it serves below {prometheus.prefix} (routePrefix), and Grafana asks it at "
                f"{format_value([path or '/' for path in sorted(paths)])}: who asks there gets 404"
            )
            command = Command("kubectl", "-n", monitoring.namespace, "get", "prometheus", name, "-o", "yaml")
            yield build_state(CLUSTER, "broken", f"prometheus {monitoring.namespace}/{name}", message, command)


def build_state(location: str, severity: Severity, subject: str, message: str, command: Command) -> AbnormalState:
    return AbnormalState("settings-contradict", severity, (location,), (subject,), message, command)


OBSERVERS = (
    Observer(
        "manifest-addresses", "Addresses of the control plane", observe_manifests, (MANIFEST_ADDRESSES, ADDRESSES),
        scope="host", yields=True,
    ),
    Observer(
        "announcements", "Announcements of Flannel", observe_announcements,
        (FLANNEL_ANNOTATIONS, LINKS, IDENTITY, ADDRESSES), yields=True,
    ),
    Observer("pod-network", "Network of Flannel", observe_network, (NET_CONF, NODES), yields=True),
    Observer(
        "references", "ConfigMaps that settings name", observe_references, (SETTINGS, EXPORTERS, GPU_CONFIG_MAPS),
        yields=True,
    ),
    Observer(
        "prefixes", "Paths of Prometheus", observe_prefixes, (PROMETHEUSES, DATA_SOURCES), is_needed=has_monitoring,
        yields=True,
    ),
)  # fmt: skip
