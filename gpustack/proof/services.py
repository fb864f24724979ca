"""The Services of the monitoring, found by the labels of their charts in the namespaces of the spec, and their URLs.

kube-prometheus-stack labels its parts `app: kube-prometheus-stack-…`, the chart of Grafana `app.kubernetes.io/name:
grafana`, and the GPU operator the Service of its exporter `app: nvidia-dcgm-exporter`. The exporter of gpustack has the
label of the GPU operator.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.spec import Spec
from gpustack.errors import UnreachableError, UsageError
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.proof import INGRESSES, SERVICES, Ingress, Service

Part = Literal["grafana", "prometheus", "alertmanager", "exporter"]
LABELS: dict[Part, tuple[str, str]] = {
    "grafana": ("app.kubernetes.io/name", "grafana"),
    "prometheus": ("app", "kube-prometheus-stack-prometheus"),
    "alertmanager": ("app", "kube-prometheus-stack-alertmanager"),
    "exporter": ("app", "nvidia-dcgm-exporter"),
}
INSTANCE = "app.kubernetes.io/instance"
# Names of the main port in the charts. Without such a name, the first port is the main port.
PORTS = ("http-web", "service", "gpu-metrics", "metrics", "http", "web")
SCHEME = "http"
ACCESS_PROBES = (NODES, SERVICES, INGRESSES)


@dataclass(frozen=True)
class Access:
    """Describe the access to a part of the monitoring. `urls` need no forwarding (Ingress, load balancer, node port),
    and may be empty."""

    part: Part
    service: Service
    urls: tuple[str, ...]

    @property
    def port(self) -> int:
        return select_main_port(self.service)


def find_access(snapshot: Snapshot, part: Part) -> Access:
    """Find the access to a part. Raise UnreachableError where the API gave no answer, and UsageError without a
    Service."""
    spec, cluster = snapshot.inventory.spec, View(snapshot, CLUSTER)
    try:
        services, ingresses = cluster[SERVICES], cluster[INGRESSES]
        # A node port is open on every node, so any node that is Ready serves it.
        addresses = [node.address for node in cluster[NODES] if node.ready and node.address]
        access = describe_access(part, services, ingresses, addresses, spec)
    except FactUnavailable as error:
        message = "The Kubernetes API gave no answer."
        raise UnreachableError("proof-no-api", message, str(error), Command("gpustack", "verify")) from error
    if access is None:
        reason = (
            f"There is none with the label {'='.join(LABELS[part])} in the namespace {choose_namespace(part, spec)}."
        )
        raise UsageError("access-no-service", f"The cluster has no {part}.", reason, Command("gpustack", "plan"))
    return access


def describe_access(
    part: Part, services: Sequence[Service], ingresses: Sequence[Ingress], addresses: Sequence[str], spec: Spec
) -> Access | None:
    """Describe the access to a part of the monitoring. Return None without a Service."""
    service = find_service(part, services, spec)
    if service is None:
        return None
    backends = [
        ingress for ingress in ingresses if ingress.namespace == service.namespace and service.name in ingress.services
    ]
    urls = [url for ingress in backends for url in ingress.urls if "*" not in url]
    if service.kind == "LoadBalancer":
        urls += [f"{SCHEME}://{host}:{select_main_port(service)}" for host in service.external_addresses]
    if service.kind in ("NodePort", "LoadBalancer") and (number := find_node_port(service)):
        urls += [f"{SCHEME}://{address}:{number}" for address in addresses[:1]]
    return Access(part, service, tuple(dict.fromkeys(urls)))


def choose_namespace(part: Part, spec: Spec) -> str:
    return spec.gpu.namespace if part == "exporter" else spec.monitoring.namespace


def find_service(part: Part, services: Sequence[Service], spec: Spec) -> Service | None:
    """Find the Service of a part in the namespace of the spec, of the release of the spec if possible. Otherwise return
    the only Service with the label."""
    label, value = LABELS[part]
    candidates = [
        service for service in services if service.labels.get(label) == value and service.ports and has_address(service)
    ]
    local_services = [service for service in candidates if service.namespace == choose_namespace(part, spec)]
    release_services = [
        service
        for service in local_services
        if spec.monitoring.release in (service.labels.get("release"), service.labels.get(INSTANCE))
    ]
    for group in (release_services, local_services, candidates):
        if group and (group is not candidates or len(group) == 1):
            return group[0]
    return None


def has_address(service: Service) -> bool:
    """Tell whether a Service has a cluster IP. A headless Service has none."""
    return service.address not in ("", "None")


def select_main_port(service: Service) -> int:
    return next((service.ports[name] for name in PORTS if name in service.ports), next(iter(service.ports.values())))


def find_node_port(service: Service) -> int | None:
    port_names = [name for name, number in service.ports.items() if number == select_main_port(service)]
    return service.node_ports.get(port_names[0])
