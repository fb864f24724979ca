"""States of pods of gpustack, and of all pods that wait: their nodes, and why their containers do not run.

Waiting and ended containers: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle. A pod that is to be
scheduled, pulls an image, or runs its init containers has the phase Pending.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Api, Probe
from gpustack.ask.prune import keep_items
from gpustack.probes.kubernetes.nodes import parse_each
from gpustack.probes.parsing import parse_optional_time, parse_quantity

APP = ("app", "app.kubernetes.io/name")
HEALTHY = "Healthy"
MANY_RESTARTS = 3
"""Restarts of a container from which on it is restarted again and again."""


@dataclass(frozen=True)
class Container:
    """Describe a container.

    `reason` is why it waits or ended (empty while it runs), `last_reason` that of its run before; `message` and
    `last_message` are the kubelet's words for these. `ended_at` is when that last run ended, `started_at` when the
    present one started. `last_started_at` is when the run that ended had started, `exit_code` and `signal` are how it
    ended (None and 0 where nothing ended), `restarts` is how often the container was restarted. `probed`: its startup
    probe has succeeded, or it has none. `ended`: it neither runs nor waits. `devices` are those of its resources that
    the kubelet does not call healthy, each as `RESOURCE ID: HEALTH` (KEP-4680, since Kubernetes 1.31); empty where the
    kubelet reports none.
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
    last_started_at: datetime | None = None
    exit_code: int | None = None
    signal: int = 0
    restarts: int = 0
    probed: bool = True
    ended: bool = False
    devices: tuple[str, ...] = ()

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
    nvidia.com/… that it requests; `own_users`: it requests a user namespace (hostUsers false). `owner` is its
    controller as `kind/name`, empty without one. `reason` and `message` are those of the pod as a whole.
    `unready_since` is when its condition Ready became false. `ends_by` is the end of its grace period where its
    deletion was requested, and `finalizers` are what keeps it after that. `gates` keep its scheduler from it, `seen`
    says that its scheduler has judged it, and `claims` are its names of the devices that it claims (DRA).
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
    labels: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""
    reason: str = ""
    message: str = ""
    created_at: datetime | None = None
    unready_since: datetime | None = None
    ends_by: datetime | None = None
    finalizers: tuple[str, ...] = ()
    scheduler: str = ""
    gates: tuple[str, ...] = ()
    seen: bool = True
    claims: tuple[str, ...] = ()

    @property
    def deleted(self) -> bool:
        return self.ends_by is not None

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def parse_pod_state(entry: Any) -> PodState:
    metadata, spec, status = entry["metadata"], entry.get("spec", {}), entry.get("status", {})
    labels = metadata.get("labels", {})
    conditions = {condition["type"]: condition for condition in status.get("conditions", ())}
    placement, readiness = conditions.get("PodScheduled", {}), conditions.get("Ready", {})
    return PodState(
        metadata["namespace"],
        metadata["name"],
        next((str(labels[name]) for name in APP if name in labels), ""),
        spec.get("nodeName", ""),
        status.get("phase", ""),
        readiness.get("status") == "True",
        shorten_message(str(placement.get("message", ""))) if placement.get("status") == "False" else "",
        tuple(parse_containers(status)),
        sum(count_gpus(container) for container in spec.get("containers", ())),
        spec.get("hostUsers") is False,
        labels=labels,
        owner=find_controller(metadata),
        reason=status.get("reason", ""),
        message=shorten_message(status.get("message", "")),
        created_at=parse_optional_time(metadata.get("creationTimestamp")),
        unready_since=parse_optional_time(readiness.get("lastTransitionTime"))
        if readiness.get("status") == "False"
        else None,
        ends_by=parse_optional_time(metadata.get("deletionTimestamp")),
        finalizers=tuple(metadata.get("finalizers", ())),
        scheduler=spec.get("schedulerName", ""),
        gates=tuple(gate["name"] for gate in spec.get("schedulingGates") or ()),
        seen="PodScheduled" in conditions or "nodeName" in spec,
        claims=tuple(claim["name"] for claim in spec.get("resourceClaims") or ()),
    )


def find_controller(metadata: Any) -> str:
    """Find the controller of an object, as `kind/name`; empty where it has none."""
    owners = (owner for owner in metadata.get("ownerReferences", ()) if owner.get("controller"))
    return next((f"{owner['kind']}/{owner['name']}" for owner in owners), "")


def parse_containers(status: Any) -> Iterator[Container]:
    for part, init in (("initContainerStatuses", True), ("containerStatuses", False)):
        for container_status in status.get(part, ()):
            state, last_termination = (
                container_status.get("state", {}),
                container_status.get("lastState", {}).get("terminated", {}),
            )
            state_details = state.get("waiting") or state.get("terminated") or {}
            termination = state.get("terminated") or last_termination
            yield Container(
                container_status["name"],
                init,
                container_status.get("ready", False),
                state_details.get("reason", ""),
                shorten_message(str(state_details.get("message", ""))),
                last_termination.get("reason", ""),
                shorten_message(str(last_termination.get("message", ""))),
                parse_optional_time(
                    last_termination.get("finishedAt") or state.get("terminated", {}).get("finishedAt")
                ),
                parse_optional_time(state.get("running", {}).get("startedAt")),
                parse_optional_time(termination.get("startedAt")),
                termination.get("exitCode"),
                termination.get("signal", 0),
                container_status.get("restartCount", 0),
                container_status.get("started", True),
                "terminated" in state,
                tuple(parse_devices(container_status)),
            )


def parse_devices(container_status: Any) -> Iterator[str]:
    """Parse the devices of a container that are not healthy (core/v1, ResourceStatus and ResourceHealth)."""
    for resource in container_status.get("allocatedResourcesStatus") or ():
        for device in resource.get("resources") or ():
            if (health := device.get("health", HEALTHY)) != HEALTHY:
                yield f"{resource['name']} {device['resourceID']}: {health}"


def count_gpus(container: Any) -> int:
    limits = container.get("resources", {}).get("limits", {})
    return sum(parse_quantity(str(count)) for name, count in limits.items() if name.startswith("nvidia.com/"))


def prune_ending_pods(text: str) -> str:
    """Keep the pods whose deletion was requested, and those with GPUs of which a container was restarted often."""
    return keep_items(
        text,
        lambda entry: entry["metadata"].get("deletionTimestamp") or (has_gpus(entry) and is_restarted(entry)),
    )


def has_gpus(entry: Any) -> bool:
    return any(count_gpus(container) for container in entry.get("spec", {}).get("containers", ()))


def is_restarted(entry: Any) -> bool:
    status = entry.get("status", {})
    containers = (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
    return any(container.get("restartCount", 0) >= MANY_RESTARTS for container in containers)


FIELDS = (
    "metadata.name", "metadata.namespace", "metadata.labels", "metadata.creationTimestamp",
    "metadata.deletionTimestamp", "metadata.finalizers", "metadata.ownerReferences.kind",
    "metadata.ownerReferences.name", "metadata.ownerReferences.controller", "spec.nodeName", "spec.hostUsers",
    "spec.schedulerName", "spec.schedulingGates.name", "spec.resourceClaims.name",
    "spec.containers.resources.limits", "status.phase", "status.reason", "status.message", "status.conditions.type",
    "status.conditions.status", "status.conditions.message", "status.conditions.lastTransitionTime",
    *(
        f"status.{part}.{name}"
        for part in ("initContainerStatuses", "containerStatuses")
        for name in ("name", "ready", "state", "lastState", "restartCount", "started", "allocatedResourcesStatus")
    ),
)  # fmt: skip


def build_probe(id: str, path: str) -> Probe[tuple[PodState, ...]]:
    return Probe(id, Api(path, FIELDS), parse_each(parse_pod_state))


GPU_PODS = build_probe("gpu.pods", "/api/v1/namespaces/$GPU_NAMESPACE/pods")
MONITORING_PODS = build_probe("monitoring.pods", "/api/v1/namespaces/$MONITORING/pods")
SYSTEM_PODS = build_probe("pods.system", "/api/v1/namespaces/kube-system/pods")
FLANNEL_PODS = build_probe("pods.flannel", "/api/v1/namespaces/kube-flannel/pods")
STORAGE_PODS = build_probe("pods.storage", "/api/v1/namespaces/local-path-storage/pods")
KEDA_PODS = build_probe("pods.keda", "/api/v1/namespaces/$KEDA/pods")
PLATFORM_PODS = (SYSTEM_PODS, FLANNEL_PODS, STORAGE_PODS, GPU_PODS, MONITORING_PODS, KEDA_PODS)
"""The pods of each namespace of the platform."""
PENDING_PODS = build_probe("pods.pending", "/api/v1/pods?fieldSelector=status.phase%3DPending")
ENDING_PODS = replace(
    build_probe("pods.ending", "/api/v1/pods?fieldSelector=status.phase%21%3DPending"), pruner=prune_ending_pods
)
"""The pods of all namespaces that are there although their deletion was requested, those that ended among them, and
those with GPUs that are restarted."""
FAILED_PODS = build_probe("pods.failed", "/api/v1/pods?fieldSelector=status.phase%3DFailed&limit=500")
