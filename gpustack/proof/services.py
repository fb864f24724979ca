"""Where the monitoring is reached: Services by the labels that their charts give, in the namespaces of the spec, and
the addresses that lead to them.

kube-prometheus-stack names its parts `app: kube-prometheus-stack-…`, Grafana's chart `app.kubernetes.io/name: grafana`,
the GPU operator its exporter's Service `app: nvidia-dcgm-exporter`; an exporter of our own has that label too.
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
# The main port, by the names that the charts give it; without a name it is the first.
PORTS = ("http-web", "service", "gpu-metrics", "metrics", "http", "web")
SCHEME = "http"
ACCESS_PROBES = (NODES, SERVICES, INGRESSES)


@dataclass(frozen=True)
class Access:
    """`urls` are reachable without us: Ingress, load balancer, port on every node. Without any, a port is forwarded."""

    part: Part
    service: Service
    urls: tuple[str, ...]

    @property
    def port(self) -> int:
        return main_port(self.service)


def find_access(taken: Snapshot, part: Part) -> Access:
    """Raises UnreachableError when the API gave no answer, UsageError when there is no such Service."""
    spec, cluster = taken.inventory.spec, View(taken, CLUSTER)
    try:
        services, ingresses = cluster[SERVICES], cluster[INGRESSES]
        # Of nodes that are Ready, for a port that all of them open.
        addresses = [node.address for node in cluster[NODES] if node.ready and node.address]
        found = describe_access(part, services, ingresses, addresses, spec)
    except FactUnavailable as error:
        message = "The Kubernetes API gave no answer."
        raise UnreachableError("proof-no-api", message, str(error), Command("gpustack", "verify")) from error
    if found is None:
        why = f"There is none with the label {'='.join(LABELS[part])} in the namespace {namespace_of(part, spec)}."
        raise UsageError("access-no-service", f"The cluster has no {part}.", why, Command("gpustack", "plan"))
    return found


def describe_access(
    part: Part, services: Sequence[Service], ingresses: Sequence[Ingress], addresses: Sequence[str], spec: Spec
) -> Access | None:
    """None when there is no such Service."""
    found = find_service(part, services, spec)
    if found is None:
        return None
    behind = [one for one in ingresses if one.namespace == found.namespace and found.name in one.services]
    urls = [url for one in behind for url in one.urls if "*" not in url]
    if found.kind == "LoadBalancer":
        urls += [f"{SCHEME}://{host}:{main_port(found)}" for host in found.outside]
    if found.kind in ("NodePort", "LoadBalancer") and (number := node_port(found)):
        urls += [f"{SCHEME}://{address}:{number}" for address in addresses[:1]]
    return Access(part, found, tuple(dict.fromkeys(urls)))


def namespace_of(part: Part, spec: Spec) -> str:
    return spec.gpu.namespace if part == "exporter" else spec.monitoring.namespace


def find_service(part: Part, services: Sequence[Service], spec: Spec) -> Service | None:
    """Its Service in the namespace of the spec, the release's own before another's; else the only one there is."""
    label, value = LABELS[part]
    found = [one for one in services if one.labels.get(label) == value and one.ports and has_address(one)]
    own = [one for one in found if one.namespace == namespace_of(part, spec)]
    ours = [one for one in own if spec.monitoring.release in (one.labels.get("release"), one.labels.get(INSTANCE))]
    for some in (ours, own, found):
        if some and (some is not found or len(some) == 1):
            return some[0]
    return None


def has_address(one: Service) -> bool:
    """A headless Service has none: it leads to a pod by name only."""
    return one.address not in ("", "None")


def main_port(one: Service) -> int:
    return next((one.ports[name] for name in PORTS if name in one.ports), next(iter(one.ports.values())))


def node_port(one: Service) -> int | None:
    wanted = [name for name, number in one.ports.items() if number == main_port(one)]
    return one.node_ports.get(wanted[0])
