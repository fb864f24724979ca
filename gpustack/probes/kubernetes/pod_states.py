"""States of pods of gpustack, and of all pods that wait: their nodes, and why their containers do not run.

Waiting and ended containers: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle. A pod that is to be
scheduled, pulls an image, or runs its init containers has the phase Pending.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Api, Probe
from gpustack.probes.kubernetes.nodes import parse_each
from gpustack.probes.parsing import parse_integer

APP = ("app", "app.kubernetes.io/name")


@dataclass(frozen=True)
class Container:
    """Describe a container.

    `reason` is why it waits or ended (empty while it runs), `last_reason` that of its run before; `message` and
    `last_message` are the kubelet's words for these. `ended_at` is when that last run ended, `started_at` when the
    present one started.
    """

    name: str
    init: bool
    ready: bool
    reason: str
    message: str
    last_reason: str
    last_message: str
    ended_at: datetime | None
    started_at: datetime | None = None

    @property
    def words(self) -> str:
        """The words of the kubelet, empty for a ready container: after a reboot a container may fail once, until its
        dependencies run."""
        if self.ready:
            return ""
        return " ".join(filter(None, (self.message, self.last_message)))


@dataclass(frozen=True)
class PodState:
    """Describe a pod.

    `app` is its label app or app.kubernetes.io/name. `unscheduled_reason` is why no node accepts it. `gpus` counts the
    nvidia.com/… that it requests; `own_users`: it requests a user namespace (hostUsers false).
    """

    namespace: str
    name: str
    app: str
    node: str
    phase: str
    ready: bool
    unscheduled_reason: str
    containers: tuple[Container, ...]
    gpus: int = 0
    own_users: bool = False

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def parse_pod_state(entry: Any) -> PodState:
    metadata, spec, status = entry["metadata"], entry.get("spec", {}), entry.get("status", {})
    labels = metadata.get("labels", {})
    conditions = {condition["type"]: condition for condition in status.get("conditions", ())}
    placed = conditions.get("PodScheduled", {})
    return PodState(
        metadata["namespace"],
        metadata["name"],
        next((str(labels[name]) for name in APP if name in labels), ""),
        spec.get("nodeName", ""),
        status.get("phase", ""),
        conditions.get("Ready", {}).get("status") == "True",
        shorten_message(str(placed.get("message", ""))) if placed.get("status") == "False" else "",
        tuple(parse_containers(status)),
        sum(count_gpus(container) for container in spec.get("containers", ())),
        spec.get("hostUsers") is False,
    )


def parse_containers(status: Any) -> Iterator[Container]:
    for part, init in (("initContainerStatuses", True), ("containerStatuses", False)):
        for container_status in status.get(part, ()):
            state, last = container_status.get("state", {}), container_status.get("lastState", {}).get("terminated", {})
            state_details = state.get("waiting") or state.get("terminated") or {}
            ended_at = last.get("finishedAt") or state.get("terminated", {}).get("finishedAt")
            started_at = state.get("running", {}).get("startedAt")
            yield Container(
                container_status["name"],
                init,
                container_status.get("ready", False),
                state_details.get("reason", ""),
                shorten_message(str(state_details.get("message", ""))),
                last.get("reason", ""),
                shorten_message(str(last.get("message", ""))),
                datetime.fromisoformat(ended_at) if ended_at else None,
                datetime.fromisoformat(started_at) if started_at else None,
            )


def count_gpus(container: Any) -> int:
    limits = container.get("resources", {}).get("limits", {})
    return sum(parse_integer(str(count)) for name, count in limits.items() if name.startswith("nvidia.com/"))


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
GPU_PODS = Probe("gpu.pods", Api("/api/v1/namespaces/$GPU_NAMESPACE/pods", KEEP), parse_each(parse_pod_state))
# node-exporter has one on every node, and its DaemonSet says how many run.
MONITORING_PODS = Probe(
    "monitoring.pods",
    Api(
        "/api/v1/namespaces/$MONITORING/pods"
        "?labelSelector=app.kubernetes.io/name%21%3Dprometheus-node-exporter%2Capp%21%3Dprometheus-node-exporter",
        KEEP,
    ),
    parse_each(parse_pod_state),
)
PENDING_PODS = Probe(
    "pods.pending", Api("/api/v1/pods?fieldSelector=status.phase%3DPending", KEEP), parse_each(parse_pod_state)
)
