"""Pods that wait for a node or were evicted from one, conditions of nodes, and the last write to the API."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects

GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class UnscheduledPod:
    """Describe a pod without a node, the scheduler's reason, and since when; `gpu`: it requests GPUs. `only_node` is
    the node for which its DaemonSet made it, empty for other pods and in older recordings."""

    name: str
    namespace: str
    reason: str
    pending_since: datetime
    gpu: bool
    only_node: str = ""


@dataclass(frozen=True)
class EvictedPod:
    """Describe a pod that its node evicted, why, and when."""

    name: str
    namespace: str
    node: str
    reason: str
    evicted_at: datetime


def parse_timestamp(text: Any) -> datetime:
    """Parse a time of RFC 3339, as the API writes it."""
    return datetime.fromisoformat(str(text))


def parse_unscheduled_pods(answer: Answer) -> tuple[UnscheduledPod, ...]:
    """Parse the pods that the scheduler could not place."""
    unscheduled_pods = []
    for entry in list_objects(answer):
        conditions = {condition["type"]: condition for condition in entry["status"].get("conditions", ())}
        placement = conditions.get("PodScheduled", {})
        if placement.get("reason") == "Unschedulable":
            container_limits = [part.get("resources", {}).get("limits", {}) for part in entry["spec"]["containers"]]
            name, space = entry["metadata"]["name"], entry["metadata"]["namespace"]
            pending_since = parse_timestamp(placement["lastTransitionTime"])
            unscheduled_pods.append(
                UnscheduledPod(
                    name,
                    space,
                    shorten_message(str(placement.get("message", ""))),
                    pending_since,
                    any(GPU in limits for limits in container_limits),
                    find_only_node(entry["spec"].get("affinity", {})),
                )
            )
    return tuple(unscheduled_pods)


def find_only_node(affinity: Any) -> str:
    """Find the node that the controller of DaemonSets demands for a pod by its name (pkg/controller/daemon/util)."""
    demands = affinity.get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    fields = [field for term in demands.get("nodeSelectorTerms", ()) for field in term.get("matchFields", ())]
    names = [str(name) for field in fields if field["key"] == "metadata.name" for name in field["values"]]
    return names[0] if len(names) == 1 else ""


def parse_evicted_pods(answer: Answer) -> tuple[EvictedPod, ...]:
    """Parse the pods that were evicted because the node ran short of a resource, without those that exceeded a limit of
    their own."""
    evicted_pods = []
    for entry in list_objects(answer):
        status, message = entry["status"], str(entry["status"].get("message", ""))
        if status.get("reason") == "Evicted" and message.startswith("The node "):
            times = [parse_timestamp(condition["lastTransitionTime"]) for condition in status.get("conditions", ())]
            evicted_at = max(times) if times else parse_timestamp(status["startTime"])
            name, space = entry["metadata"]["name"], entry["metadata"]["namespace"]
            evicted_pods.append(
                EvictedPod(name, space, entry["spec"]["nodeName"], shorten_message(message), evicted_at)
            )
    return tuple(evicted_pods)


def parse_pressures(answer: Answer) -> Mapping[str, tuple[str, ...]]:
    """Parse for each node the conditions that hold and should not: DiskPressure, MemoryPressure, PIDPressure."""
    return {
        str(entry["metadata"]["name"]): tuple(
            str(condition["type"])
            for condition in entry["status"].get("conditions", ())
            if str(condition["type"]).endswith("Pressure") and condition["status"] == "True"
        )
        for entry in list_objects(answer)
    }


def parse_lease_renewal(answer: Answer) -> datetime | None:
    """Parse when the youngest lease of the control plane was renewed: each of its programs renews one every few
    seconds."""
    times = [entry["spec"]["renewTime"] for entry in list_objects(answer) if entry["spec"].get("renewTime")]
    return max(map(parse_timestamp, times)) if times else None


CONDITION_FIELDS = ("status.conditions.type", "status.conditions.reason", "status.conditions.message")
UNSCHEDULED_PODS = Probe(
    "kube.unscheduled-pods",
    Api(
        "/api/v1/pods?fieldSelector=spec.nodeName%3D,status.phase%3DPending&limit=500",
        (
            "metadata.name", "metadata.namespace", "spec.containers.resources.limits", *CONDITION_FIELDS,
            "status.conditions.lastTransitionTime",
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.matchFields",
        ),
    ),
    parse_unscheduled_pods,
)  # fmt: skip
EVICTED_PODS = Probe(
    "kube.evicted-pods",
    Api(
        "/api/v1/pods?fieldSelector=status.phase%3DFailed&limit=500",
        (
            "metadata.name", "metadata.namespace", "spec.nodeName", "status.reason", "status.message",
            "status.startTime",
            "status.conditions.lastTransitionTime",
        ),
    ),
    parse_evicted_pods,
)  # fmt: skip
PRESSURES = Probe(
    "kube.pressures",
    Api("/api/v1/nodes", ("metadata.name", "status.conditions.type", "status.conditions.status")),
    parse_pressures,
)
LEASE_RENEWAL = Probe(
    "kube.leases",
    Api("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", ("metadata.name", "spec.renewTime")),
    parse_lease_renewal,
)
