"""Pods that controllers could not create, as their events say it: for DaemonSets and StatefulSets no field does.

The reason is that of kubernetes/kubernetes pkg/controller/controller_utils.go, FailedCreatePodReason. The API keeps an
event for an hour.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.kubernetes.pod_states import parse_optional_time


@dataclass(frozen=True)
class RefusedPod:
    """Describe the last refusal of a controller's pods: its `kind`, such as DaemonSet, the API server's words, when it
    was refused first and last, and how often."""

    kind: str
    namespace: str
    name: str
    message: str
    first_at: datetime | None
    last_at: datetime | None
    count: int


def parse_refused_pods(answer: Answer) -> tuple[RefusedPod, ...]:
    """Parse the newest refusal of each controller."""
    refusals = sorted(map(parse_refused_pod, list_objects(answer)), key=lambda refusal: str(refusal.last_at or ""))
    newest = {(refusal.kind, refusal.namespace, refusal.name): refusal for refusal in refusals}
    return tuple(newest[key] for key in sorted(newest))


def parse_refused_pod(entry: Any) -> RefusedPod:
    reference = entry["involvedObject"]
    return RefusedPod(
        reference["kind"],
        reference["namespace"],
        reference["name"],
        shorten_message(str(entry["message"])),
        parse_optional_time(entry.get("firstTimestamp")),
        parse_optional_time(entry.get("lastTimestamp")),
        entry.get("count") or 0,
    )


REFUSED_PODS = Probe(
    "pods.refused",
    Api(
        "/api/v1/events?fieldSelector=reason%3DFailedCreate&limit=2000",
        (
            "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "message", "firstTimestamp",
            "lastTimestamp", "count",
        ),
    ),
    parse_refused_pods,
)  # fmt: skip
