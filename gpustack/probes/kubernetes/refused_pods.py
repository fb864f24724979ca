"""Pods that controllers could not create, as their events say it: for DaemonSets and StatefulSets no field does.

The reason is that of kubernetes/kubernetes pkg/controller/controller_utils.go, FailedCreatePodReason. The API keeps an
event for an hour.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.parsing import parse_optional_time

SIMILAR_EVENTS = "(combined from similar events)"
"""The first words of an event that stands for others whose messages differ; its first time may be hours before them
(client-go tools/record/events_cache.go, EventAggregatorByReasonMessageFunc)."""
LONGEST_RETRY = timedelta(minutes=20)
"""A controller tries again after 1000 s at most (client-go util/workqueue, DefaultTypedControllerRateLimiter)."""


@dataclass(frozen=True)
class RefusedPod:
    """Describe the refusals of a controller's pods: its `kind`, such as DaemonSet, the API server's last words, when it
    was refused first and last, and how often."""

    kind: str
    namespace: str
    name: str
    message: str
    first_at: datetime | None
    last_at: datetime | None
    count: int


def parse_refused_pods(answer: Answer) -> tuple[RefusedPod, ...]:
    """Parse the refusals of each controller. The names of the refused pods differ, so that each of the first ten has an
    event of its own (client-go tools/record/events_cache.go)."""
    refusals: dict[tuple[str, str, str], list[RefusedPod]] = {}
    for refusal in map(parse_refused_pod, list_objects(answer)):
        refusals.setdefault((refusal.kind, refusal.namespace, refusal.name), []).append(refusal)
    return tuple(combine_refusals(refusals[key]) for key in sorted(refusals))


def combine_refusals(refusals: Sequence[RefusedPod]) -> RefusedPod:
    """Combine the refusals of one controller to the last one, with the time of the first and the number of all. Those
    before a longer pause are of an earlier cause. Of several similar events the first time may be such a one's."""
    newest_refusal, *older_refusals = sorted(refusals, key=lambda refusal: str(refusal.last_at or ""), reverse=True)
    episode, start = (
        [newest_refusal],
        newest_refusal.last_at if newest_refusal.message.startswith(SIMILAR_EVENTS) else newest_refusal.first_at,
    )
    for refusal in older_refusals:
        if not (start and refusal.last_at) or start - refusal.last_at > LONGEST_RETRY:
            break
        episode.append(refusal)
        start = min(start, refusal.last_at if refusal.message.startswith(SIMILAR_EVENTS) else refusal.first_at or start)
    is_known = any(not refusal.message.startswith(SIMILAR_EVENTS) for refusal in episode)
    return replace(
        newest_refusal, first_at=start if is_known else None, count=sum(refusal.count for refusal in episode)
    )


def parse_refused_pod(entry: Any) -> RefusedPod:
    """Parse a refusal. Other programs write events with this reason too, about objects without a namespace."""
    reference = entry["involvedObject"]
    return RefusedPod(
        reference.get("kind", ""),
        reference.get("namespace", ""),
        reference.get("name", ""),
        shorten_message(str(entry.get("message", ""))),
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
