"""Where the monitoring stands: namespaces and releases from the spec, Services by the labels that their charts give.

kube-prometheus-stack names its parts `app: kube-prometheus-stack-…`, Grafana's chart `app.kubernetes.io/name: grafana`,
the GPU operator its exporter's Service `app: nvidia-dcgm-exporter`; an exporter of our own has that label too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gpustack.config.spec import Spec
from gpustack.probes.proof import Service

Part = Literal["grafana", "prometheus", "alertmanager", "exporter"]
LABELS: dict[Part, tuple[str, str]] = {
    "grafana": ("app.kubernetes.io/name", "grafana"),
    "prometheus": ("app", "kube-prometheus-stack-prometheus"),
    "alertmanager": ("app", "kube-prometheus-stack-alertmanager"),
    "exporter": ("app", "nvidia-dcgm-exporter"),
}
# The main port, by the names that the charts give it; without a name it is the first.
PORTS = ("http-web", "service", "gpu-metrics", "metrics", "http", "web")
DATA_SOURCE = "prometheus"


@dataclass(frozen=True)
class Names:
    """Namespace and release of the monitoring, namespace of the GPU operator."""

    monitoring: str
    release: str
    gpu: str

    def of(self, part: Part) -> str:
        return self.gpu if part == "exporter" else self.monitoring


def names(spec: Spec) -> Names:
    return Names(spec.monitoring.namespace, spec.monitoring.release, spec.gpu.namespace)


def find(part: Part, services: Sequence[Service], where: Names) -> Service | None:
    """Its Service in the namespace of the spec, the release's own before another's; else the only one there is."""
    label, value = LABELS[part]
    found = [one for one in services if one.labels.get(label) == value and one.ports and headed(one)]
    own = [one for one in found if one.namespace == where.of(part)]
    ours = [one for one in own if where.release in (one.labels.get("release"), one.labels.get(INSTANCE))]
    for some in (ours, own, found):
        if some and (some is not found or len(some) == 1):
            return some[0]
    return None


INSTANCE = "app.kubernetes.io/instance"


def headed(one: Service) -> bool:
    """It has an address of its own; a headless Service leads to a pod by name only."""
    return one.address not in ("", "None")


def port(one: Service) -> int:
    return next((one.ports[name] for name in PORTS if name in one.ports), next(iter(one.ports.values())))


def node_port(one: Service) -> int | None:
    wanted = [name for name, number in one.ports.items() if number == port(one)]
    return one.node_ports.get(wanted[0])
