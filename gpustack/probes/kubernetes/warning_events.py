"""Events of the type Warning: of namespaces of the platform; of nodes, whose events are in the namespace default; and
of claims for volumes and of volumes that are not mounted in all namespaces.

The API keeps an event for an hour. The scheduler writes `eventTime` and `series`, the kubelet and the controllers write
`firstTimestamp`, `lastTimestamp` and `count` (k8s.io/api core/v1, Event).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Api, Probe
from gpustack.probes.kubernetes.nodes import parse_each
from gpustack.probes.parsing import parse_optional_time


@dataclass(frozen=True)
class WarningEvent:
    """Describe an event of an object: the reason and the message of the program that reports it, when it happened first
    and last, and how often. `namespace` is empty for a node. The API server demands neither `kind` nor `name`."""

    kind: str
    namespace: str
    name: str
    reason: str
    message: str
    first_at: datetime | None
    last_at: datetime | None
    count: int

    @property
    def subject(self) -> str:
        place = "/".join(filter(None, (self.namespace, self.name)))
        return f"{self.kind.lower() or 'object'} {place}"


def parse_warning_event(entry: Any) -> WarningEvent:
    reference, series, event_time = entry["involvedObject"], entry.get("series") or {}, entry.get("eventTime")
    return WarningEvent(
        reference.get("kind", ""),
        reference.get("namespace", ""),
        reference.get("name", ""),
        entry.get("reason", ""),
        shorten_message(str(entry.get("message", ""))),
        parse_optional_time(entry.get("firstTimestamp") or event_time),
        parse_optional_time(entry.get("lastTimestamp") or series.get("lastObservedTime") or event_time),
        entry.get("count") or series.get("count") or 1,
    )


FIELDS = (
    "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "reason", "message", "firstTimestamp",
    "lastTimestamp", "eventTime", "count", "series.count", "series.lastObservedTime",
)  # fmt: skip


def build_probe(id: str, namespace: str, selector: str = "") -> Probe[tuple[WarningEvent, ...]]:
    """Build the probe of a namespace. `selector` is added to the field selector, with its comma."""
    path = f"/api/v1/namespaces/{namespace}/events?fieldSelector=type%3DWarning{selector}&limit=500"
    return Probe(id, Api(path, FIELDS), parse_each(parse_warning_event))


NODE_WARNINGS = build_probe("warnings.nodes", "default", "%2CinvolvedObject.kind%3DNode")
SYSTEM_WARNINGS = build_probe("warnings.system", "kube-system")
FLANNEL_WARNINGS = build_probe("warnings.flannel", "kube-flannel")
GPU_WARNINGS = build_probe("warnings.gpu", "$GPU_NAMESPACE")
MONITORING_WARNINGS = build_probe("warnings.monitoring", "$MONITORING")
KEDA_WARNINGS = build_probe("warnings.keda", "$KEDA")
CLAIM_WARNINGS = Probe(
    "warnings.claims",
    Api("/api/v1/events?fieldSelector=type%3DWarning%2CinvolvedObject.kind%3DPersistentVolumeClaim&limit=500", FIELDS),
    parse_each(parse_warning_event),
)
MOUNT_WARNINGS = Probe(
    "warnings.mounts",
    Api("/api/v1/events?fieldSelector=type%3DWarning%2Creason%3DFailedMount&limit=500", FIELDS),
    parse_each(parse_warning_event),
)
"""The kubelet's words about volumes of pods (kubernetes/kubernetes pkg/kubelet/events)."""
NODE_LOSSES = Probe(
    "nodes.losses",
    Api("/api/v1/namespaces/default/events?fieldSelector=reason%3DNodeNotReady&limit=500", FIELDS),
    parse_each(parse_warning_event),
)
"""The times that the controller manager lost a node, which are events of the type Normal (kubernetes/kubernetes
pkg/controller/nodelifecycle)."""
