"""Pods of ours, and those of everybody that wait: where they are, and what keeps their containers from running.

Waiting and ended containers: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle. A pod that is to be
scheduled, pulls an image, or runs its init containers has the phase Pending.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries
from gpustack.probes.parsing import number

LONGEST = 600
APP = ("app", "app.kubernetes.io/name")


@dataclass(frozen=True)
class Container:
    """`why` is the reason for which it waits or ended (empty while it runs), `last` that of its run before; `message`
    and `last_message` are the kubelet's words for these. `ended` is when that last run did, `started` since
    when it runs now."""

    name: str
    init: bool
    ready: bool
    why: str
    message: str
    last: str
    last_message: str
    ended: datetime | None
    started: datetime | None = None

    @property
    def words(self) -> str:
        """Of what is ready by now, nothing: after a reboot a container may fail once, before what it needs is there."""
        if self.ready:
            return ""
        return " ".join(filter(None, (self.message, self.last_message)))


@dataclass(frozen=True)
class PodState:
    """`app` is its label app or app.kubernetes.io/name. `unscheduled` is why no node takes it. `gpus` counts what it
    asks of nvidia.com/…; `own_users` says that it wants a user namespace (hostUsers false)."""

    namespace: str
    name: str
    app: str
    node: str
    phase: str
    ready: bool
    unscheduled: str
    containers: tuple[Container, ...]
    gpus: int = 0
    own_users: bool = False

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def pod_states(answer: Answer) -> tuple[PodState, ...]:
    return tuple(pod_state(entry) for entry in entries(answer))


def pod_state(entry: Any) -> PodState:
    metadata, spec, status = entry["metadata"], entry.get("spec", {}), entry.get("status", {})
    labels = metadata.get("labels", {})
    conditions = {one["type"]: one for one in status.get("conditions", ())}
    placed = conditions.get("PodScheduled", {})
    return PodState(
        metadata["namespace"],
        metadata["name"],
        next((str(labels[name]) for name in APP if name in labels), ""),
        spec.get("nodeName", ""),
        status.get("phase", ""),
        conditions.get("Ready", {}).get("status") == "True",
        str(placed.get("message", ""))[:LONGEST] if placed.get("status") == "False" else "",
        tuple(containers(status)),
        sum(count_gpus(one) for one in spec.get("containers", ())),
        spec.get("hostUsers") is False,
    )


def containers(status: Any) -> Iterator[Container]:
    for part, init in (("initContainerStatuses", True), ("containerStatuses", False)):
        for one in status.get(part, ()):
            state, last = one.get("state", {}), one.get("lastState", {}).get("terminated", {})
            held = state.get("waiting") or state.get("terminated") or {}
            ended = last.get("finishedAt") or state.get("terminated", {}).get("finishedAt")
            started = state.get("running", {}).get("startedAt")
            yield Container(
                one["name"],
                init,
                one.get("ready", False),
                held.get("reason", ""),
                str(held.get("message", ""))[:LONGEST],
                last.get("reason", ""),
                str(last.get("message", ""))[:LONGEST],
                datetime.fromisoformat(ended) if ended else None,
                datetime.fromisoformat(started) if started else None,
            )


def count_gpus(container: Any) -> int:
    limits = container.get("resources", {}).get("limits", {})
    return sum(number(str(count)) for name, count in limits.items() if name.startswith("nvidia.com/"))


KEEP = (
    "metadata.name", "metadata.namespace", "metadata.labels", "spec.nodeName", "spec.hostUsers",
    "spec.containers.resources.limits", "status.phase", "status.conditions.type", "status.conditions.status",
    "status.conditions.message",
    *(
        f"status.{part}.{field}"
        for part in ("initContainerStatuses", "containerStatuses")
        for field in ("name", "ready", "state", "lastState")
    ),
)  # fmt: skip
GPU_PODS = Probe("gpu.pods", Api("/api/v1/namespaces/$GPU_NAMESPACE/pods", KEEP), pod_states)
# node-exporter has one on every node, and its DaemonSet says how many run.
MONITORING_PODS = Probe(
    "monitoring.pods",
    Api(
        "/api/v1/namespaces/$MONITORING/pods"
        "?labelSelector=app.kubernetes.io/name%21%3Dprometheus-node-exporter%2Capp%21%3Dprometheus-node-exporter",
        KEEP,
    ),
    pod_states,
)
PENDING_PODS = Probe("pods.pending", Api("/api/v1/pods?fieldSelector=status.phase%3DPending", KEEP), pod_states)
