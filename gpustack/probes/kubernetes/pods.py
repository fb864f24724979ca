"""Pods that do not start: those that wait on a node, and why their sandbox could not be made; and the nodes of
gpustack's pods.

Only the few pods that wait are read, also of a cluster with thousands of nodes: the API server selects them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects

# What the kubelet says of containers before there is a sandbox: kubelet_pods.go, convertToAPIContainerStatuses.
START_REASONS = ("ContainerCreating", "PodInitializing")


@dataclass(frozen=True)
class WaitingContainer:
    """Describe a waiting container: its image, and the kubelet's reason (ContainerCreating, ImagePullBackOff, …)."""

    image: str
    reason: str
    message: str


@dataclass(frozen=True)
class PendingPod:
    """Describe a pod that has its node and does not run there yet. `begun`: one of its containers ran, or pulls its
    image, so that its sandbox is made."""

    namespace: str
    name: str
    uid: str
    node: str
    begun: bool
    waiting: tuple[WaitingContainer, ...]


def parse_pending_pods(answer: Answer) -> tuple[PendingPod, ...]:
    return tuple(
        sorted(
            (parse_pending_pod(entry) for entry in list_objects(answer)),
            key=lambda pending: (pending.namespace, pending.name),
        )
    )


def parse_pending_pod(entry: Any) -> PendingPod:
    metadata, status = entry["metadata"], entry["status"]
    containers = (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
    waiting_containers = tuple(list_waiting_containers(containers))
    has_begun = len(waiting_containers) < len(containers) or any(
        waiting_container.reason not in START_REASONS for waiting_container in waiting_containers
    )
    return PendingPod(
        metadata["namespace"],
        metadata["name"],
        metadata["uid"],
        entry["spec"]["nodeName"],
        has_begun,
        waiting_containers,
    )


def list_waiting_containers(containers: Any) -> Iterator[WaitingContainer]:
    for container in containers:
        if waiting_state := container["state"].get("waiting"):
            yield WaitingContainer(
                container["image"], waiting_state.get("reason", ""), shorten_message(waiting_state.get("message", ""))
            )


def parse_sandbox_failures(answer: Answer) -> Mapping[str, str]:
    """Parse the kubelet's last message, by the pod's uid."""
    last_messages: dict[str, tuple[str, str]] = {}
    for entry in list_objects(answer):
        uid, timestamp = str(entry["involvedObject"]["uid"]), str(entry.get("lastTimestamp") or "")
        last_messages[uid] = max(last_messages.get(uid, ("", "")), (timestamp, str(entry["message"])))
    return {uid: shorten_message(message) for uid, (_, message) in last_messages.items()}


CONTAINER = ("image", "state.waiting")
FIELDS = (
    "metadata.namespace", "metadata.name", "metadata.uid", "spec.nodeName",
    *(f"status.{kind}.{part}" for kind in ("initContainerStatuses", "containerStatuses") for part in CONTAINER),
)  # fmt: skip
STARTING_PODS = Probe(
    "pods.starting",
    Api("/api/v1/pods?fieldSelector=status.phase%3DPending%2Cspec.nodeName%21%3D", FIELDS),
    parse_pending_pods,
)
SANDBOX_FAILURES = Probe(
    "pods.sandbox-failures",
    Api(
        "/api/v1/events?fieldSelector=reason%3DFailedCreatePodSandBox&limit=2000",
        ("involvedObject.uid", "lastTimestamp", "message"),
    ),
    parse_sandbox_failures,
)
