"""Pods that the scheduler ended to make room for others of a higher priority: they are deleted, and only an event says
so, which the API keeps for an hour.

kubernetes/kubernetes pkg/scheduler/framework/preemption: the reason is Preempted, and `related` is the other pod.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Api, Probe
from gpustack.probes.kubernetes.nodes import parse_each
from gpustack.probes.parsing import parse_optional_time


@dataclass(frozen=True)
class Preemption:
    """Describe the end of a pod: the scheduler's words, the pod that it made room for, empty where it is not named, and
    when it was."""

    namespace: str
    name: str
    message: str
    successor: str
    preempted_at: datetime | None


def parse_preemption(entry: Any) -> Preemption:
    pod, successor = entry["involvedObject"], entry.get("related") or {}
    place = "/".join(filter(None, (successor.get("namespace", ""), successor.get("name", ""))))
    return Preemption(
        pod.get("namespace", ""),
        pod.get("name", ""),
        shorten_message(str(entry.get("message", ""))),
        place,
        parse_optional_time(entry.get("lastTimestamp") or entry.get("eventTime")),
    )


PREEMPTIONS = Probe(
    "pods.preempted",
    Api(
        "/api/v1/events?fieldSelector=reason%3DPreempted%2CinvolvedObject.kind%3DPod&limit=500",
        (
            "involvedObject.namespace", "involvedObject.name", "related.namespace", "related.name", "message",
            "lastTimestamp", "eventTime",
        ),
    ),
    parse_each(parse_preemption),
)  # fmt: skip
