"""Kubelets that use another runtime than the one that is configured, give pods a DNS server that no Service has or a
domain that DNS does not know, or look for another node than their own."""

from collections.abc import Iterator
from ipaddress import ip_address

from gpustack.ask.judge import format_value
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.containerd.daemon import SOCKET
from gpustack.probes.kubelet.settings import FIELDS, FILE, KUBELET_SETTINGS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.resolver import DOMAINS
from gpustack.probes.proof import SERVICES

DNS_PORT = 53
SHOW_SETTINGS = Command("grep", "-A", "2", "-E", FIELDS, FILE)
SHOW_NAME = Command("hostnamectl", "status")


def observe_runtime(view: View) -> Iterator[AbnormalState]:
    socket = view[KUBELET_SETTINGS].socket
    if socket and normalize_path(socket) != normalize_path(SOCKET):
        message = f"it uses the runtime at {socket}; settings of containerd are those of {SOCKET}"
        yield build_state(view, "risk", message)


def normalize_path(socket: str) -> str:
    """Return the path of a socket. /var/run is /run (FHS 3.0)."""
    return socket.removeprefix("unix://").removeprefix("/var")


def observe_servers(view: View) -> Iterator[AbnormalState]:
    """Observe DNS servers of pods that are the address of no Service. A cache on each node has one of its own, which is
    local to the link (kubernetes.io/docs/tasks/administer-cluster/nodelocaldns)."""
    servers, services = view[KUBELET_SETTINGS].servers, view[SERVICES]
    addresses = {service.address for service in services}
    if servers and not any(server in addresses or ip_address(server).is_link_local for server in servers):
        names = [f"{service.name} {service.address}" for service in services if DNS_PORT in service.ports.values()]
        dns_services = format_value(sorted(names)) if names else "none"
        message = (
            f"it gives pods the DNS server {format_value(servers)}, which no Service has; those of DNS: {dns_services}"
        )
        yield build_state(view, "broken", message)


def observe_domain(view: View) -> Iterator[AbnormalState]:
    """Observe a domain of pods in which CoreDNS knows no Service: short names of Services are looked up there."""
    domain, known_domains = view[KUBELET_SETTINGS].domain.rstrip("."), view[DOMAINS]
    if domain and known_domains and domain not in known_domains:
        message = (
            f"it gives pods the domain {domain} (clusterDomain), and CoreDNS knows Services in "
            f"{format_value(known_domains)}: pods of this host do not find Services by short names"
        )
        yield build_state(view, "broken", message)


def observe_name(view: View) -> Iterator[AbnormalState]:
    """Observe a kubelet that looks for a node of another name than that of its certificate: the API server allows it
    only its own. A host name that was changed takes effect when the kubelet starts."""
    settings = view[KUBELET_SETTINGS]
    if settings.name and settings.node and settings.name != settings.node:
        message = (
            f"its host name, or --hostname-override, is {settings.name}, and its certificate is that of the node "
            f"{settings.node}: it may neither read nor write a node {settings.name}"
        )
        ready_nodes = {node.name for node in view[NODES] if node.ready}
        severity: Severity = "risk" if settings.node in ready_nodes else "broken"
        yield build_state(view, severity, message, SHOW_NAME)


def build_state(view: View, severity: Severity, message: str, command: Command = SHOW_SETTINGS) -> AbnormalState:
    subject = f"kubelet of {view.location}"
    return AbnormalState("settings-contradict", severity, (view.location,), (subject,), message, command)


OBSERVERS = (
    Observer("kubelet-runtime", "Runtime of kubelets", observe_runtime, (KUBELET_SETTINGS,), scope="host"),
    Observer("kubelet-servers", "DNS servers of pods", observe_servers, (KUBELET_SETTINGS, SERVICES), scope="host"),
    Observer("kubelet-domain", "Domain of pods", observe_domain, (KUBELET_SETTINGS, DOMAINS), scope="host"),
    Observer("kubelet-name", "Names of kubelets", observe_name, (KUBELET_SETTINGS, NODES), scope="host"),
)
