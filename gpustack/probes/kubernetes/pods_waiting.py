"""Pods that wait for a node or were thrown off one, conditions of nodes, and when the API was last written to."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries

GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class UnscheduledPod:
    """A pod without a node, why the scheduler says so, since when; `gpu` where it asks for GPUs."""

    name: str
    namespace: str
    why: str
    since: datetime
    gpu: bool


@dataclass(frozen=True)
class Evicted:
    """A pod that its node threw out, why, and when."""

    name: str
    namespace: str
    node: str
    why: str
    at: datetime


def moment(text: Any) -> datetime:
    """RFC 3339, as the API writes it."""
    return datetime.fromisoformat(str(text))


def read_unscheduled(answer: Answer) -> tuple[UnscheduledPod, ...]:
    """Those that the scheduler could not place."""
    found = []
    for entry in entries(answer):
        conditions = {one["type"]: one for one in entry["status"].get("conditions", ())}
        placed = conditions.get("PodScheduled", {})
        if placed.get("reason") == "Unschedulable":
            asked = [part.get("resources", {}).get("limits", {}) for part in entry["spec"]["containers"]]
            name, space = entry["metadata"]["name"], entry["metadata"]["namespace"]
            since = moment(placed["lastTransitionTime"])
            found.append(
                UnscheduledPod(name, space, str(placed.get("message", "")), since, any(GPU in one for one in asked))
            )
    return tuple(found)


def read_evicted(answer: Answer) -> tuple[Evicted, ...]:
    """Those for whose end the node itself was short of something: not those that broke a limit of their own."""
    found = []
    for entry in entries(answer):
        status, message = entry["status"], str(entry["status"].get("message", ""))
        if status.get("reason") == "Evicted" and message.startswith("The node "):
            times = [moment(one["lastTransitionTime"]) for one in status.get("conditions", ())]
            at = max(times) if times else moment(status["startTime"])
            name, space = entry["metadata"]["name"], entry["metadata"]["namespace"]
            found.append(Evicted(name, space, entry["spec"]["nodeName"], message[:200], at))
    return tuple(found)


def pressures(answer: Answer) -> Mapping[str, tuple[str, ...]]:
    """By node, the conditions that hold and should not: DiskPressure, MemoryPressure, PIDPressure."""
    return {
        str(entry["metadata"]["name"]): tuple(
            str(one["type"])
            for one in entry["status"].get("conditions", ())
            if str(one["type"]).endswith("Pressure") and one["status"] == "True"
        )
        for entry in entries(answer)
    }


def read_renewed(answer: Answer) -> datetime | None:
    """When the youngest lease of the control plane was renewed: each of its programs writes one every few seconds."""
    times = [entry["spec"]["renewTime"] for entry in entries(answer) if entry["spec"].get("renewTime")]
    return max(map(moment, times)) if times else None


SCHEDULED = ("status.conditions.type", "status.conditions.reason", "status.conditions.message")
WAITING = Probe(
    "kube.unscheduled-pods",
    Api(
        "/api/v1/pods?fieldSelector=spec.nodeName%3D,status.phase%3DPending&limit=500",
        (
            "metadata.name", "metadata.namespace", "spec.containers.resources.limits", *SCHEDULED,
            "status.conditions.lastTransitionTime",
        ),
    ),
    read_unscheduled,
)  # fmt: skip
EVICTED = Probe(
    "kube.evicted-pods",
    Api(
        "/api/v1/pods?fieldSelector=status.phase%3DFailed&limit=500",
        (
            "metadata.name", "metadata.namespace", "spec.nodeName", "status.reason", "status.message",
            "status.startTime",
            "status.conditions.lastTransitionTime",
        ),
    ),
    read_evicted,
)  # fmt: skip
PRESSURES = Probe(
    "kube.pressures",
    Api("/api/v1/nodes", ("metadata.name", "status.conditions.type", "status.conditions.status")),
    pressures,
)
RENEWED = Probe(
    "kube.leases",
    Api("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", ("metadata.name", "spec.renewTime")),
    read_renewed,
)
