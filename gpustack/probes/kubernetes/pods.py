"""Pods that do not come up: those that wait on a node, and why their sandbox could not be made; and where ours run.

Of a cluster with thousands of nodes only the few that wait are read: the API server does the choosing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries

# What the kubelet says of containers before there is a sandbox: kubelet_pods.go, convertToAPIContainerStatuses.
BEFORE, LONGEST = ("ContainerCreating", "PodInitializing"), 600
# app.kubernetes.io/name of the chart kube-prometheus-stack.
PROMETHEUS, OPERATOR = "prometheus", "kube-prometheus-stack-prometheus-operator"


@dataclass(frozen=True)
class WaitingContainer:
    """A container that waits: its image, and the kubelet's reason (ContainerCreating, ImagePullBackOff, …)."""

    image: str
    reason: str
    message: str


@dataclass(frozen=True)
class Pending:
    """A pod that has its node and does not run there yet. `begun`: one of its containers ran, or pulls its image, so
    that its sandbox is made."""

    namespace: str
    name: str
    uid: str
    node: str
    begun: bool
    waiting: tuple[WaitingContainer, ...]


def read_pending(answer: Answer) -> tuple[Pending, ...]:
    return tuple(sorted((pod(entry) for entry in entries(answer)), key=lambda one: (one.namespace, one.name)))


def pod(entry: Any) -> Pending:
    metadata, status = entry["metadata"], entry["status"]
    containers = (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
    waiting = tuple(waits(containers))
    begun = len(waiting) < len(containers) or any(one.reason not in BEFORE for one in waiting)
    return Pending(metadata["namespace"], metadata["name"], metadata["uid"], entry["spec"]["nodeName"], begun, waiting)


def waits(containers: Any) -> Iterator[WaitingContainer]:
    for container in containers:
        if found := container["state"].get("waiting"):
            yield WaitingContainer(container["image"], found.get("reason", ""), found.get("message", "")[:LONGEST])


def failures(answer: Answer) -> Mapping[str, str]:
    """What the kubelet said last, by the pod's uid."""
    found: dict[str, tuple[str, str]] = {}
    for entry in entries(answer):
        uid, when = str(entry["involvedObject"]["uid"]), str(entry.get("lastTimestamp") or "")
        found[uid] = max(found.get(uid, ("", "")), (when, str(entry["message"])))
    return {uid: message for uid, (_, message) in found.items()}


def read_nodes(answer: Answer) -> Mapping[str, tuple[str, ...]]:
    """Nodes by app.kubernetes.io/name; a pod without a node is left out."""
    found: dict[str, list[str]] = {}
    for entry in entries(answer):
        name = str(entry["metadata"]["labels"]["app.kubernetes.io/name"])
        found.setdefault(name, []).extend(filter(None, [str(entry["spec"].get("nodeName", ""))]))
    return {name: tuple(sorted(nodes)) for name, nodes in found.items()}


CONTAINER = ("image", "state.waiting")
KEEP = (
    "metadata.namespace", "metadata.name", "metadata.uid", "spec.nodeName",
    *(f"status.{kind}.{part}" for kind in ("initContainerStatuses", "containerStatuses") for part in CONTAINER),
)  # fmt: skip
STARTING_PODS = Probe(
    "pods.starting", Api("/api/v1/pods?fieldSelector=status.phase%3DPending%2Cspec.nodeName%21%3D", KEEP), read_pending
)
SANDBOX_FAILURES = Probe(
    "pods.sandbox-failures",
    Api(
        "/api/v1/events?fieldSelector=reason%3DFailedCreatePodSandBox&limit=2000",
        ("involvedObject.uid", "lastTimestamp", "message"),
    ),
    failures,
)
MONITORING_PODS = Probe(
    "pods.monitoring",
    Api(
        "/api/v1/namespaces/$MONITORING/pods"
        f"?labelSelector=app.kubernetes.io%2Fname%20in%20%28{PROMETHEUS}%2C{OPERATOR}%29",
        ("metadata.labels.app\\.kubernetes\\.io/name", "spec.nodeName"),
    ),
    read_nodes,
)
