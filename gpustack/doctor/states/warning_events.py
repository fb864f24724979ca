"""Warnings of programs about objects of the platform and about nodes that no other state is about."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from gpustack.ask.probe import CLUSTER, Probe
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.spec import Spec
from gpustack.doctor.states.node_hosts import NODE_NOT_READY, locate_node
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.kubernetes import warning_events
from gpustack.probes.kubernetes.nodes import NODES, list_unready_nodes
from gpustack.probes.kubernetes.pod_states import (
    FLANNEL_PODS,
    GPU_PODS,
    KEDA_PODS,
    MONITORING_PODS,
    SYSTEM_PODS,
    PodState,
)
from gpustack.probes.kubernetes.warning_events import WarningEvent

Events = Probe[tuple[WarningEvent, ...]]
Pods = Probe[tuple[PodState, ...]]
RECENT_TIME = timedelta(minutes=10)
"""A warning that lasts is reported again within this time: the kubelet tries again after five minutes at most."""
RECENT_OF_READY = timedelta(minutes=2)
"""A pod that is ready had older warnings while it started, and so had a node those that were never repeated."""
EARLY_REASONS = frozenset({"FailedScheduling", "FailedAttachVolume", "FailedMount", "FailedCreatePodSandBox"})
"""Reasons of events from before a pod's first container is started (kubernetes/kubernetes pkg/kubelet/events)."""
EARLIEST_TIME = datetime.min.replace(tzinfo=UTC)


def build_observer(
    events: Events, title: str, pods: Pods | None = None, is_needed: Callable[[Spec], bool] = lambda _: True
) -> Observer:
    def observe_warnings(view: View) -> Iterator[AbnormalState]:
        unready_nodes = list_unready_nodes(view[NODES])
        # The node is a state of its own, and so is what its programs say.
        all_pods: tuple[PodState, ...] = view[pods] if pods else ()
        known_pods = {f"pod {pod}": pod for pod in all_pods if pod.node not in unready_nodes}
        known_events: tuple[WarningEvent, ...] = view[events]
        for event in sorted(known_events, key=lambda event: event.last_at or EARLIEST_TIME, reverse=True):
            pod = known_pods.get(event.subject)
            if (event.kind == "Pod" and pod is None) or is_accepted(view.spec, event):
                continue
            if is_over(event, all_pods) or (pod and has_started_since(event, pod)):
                continue
            is_start = event.kind == "Node" and event.name not in unready_nodes and event.count == 1
            limit = RECENT_OF_READY if is_start or (pod and pod.ready) else RECENT_TIME
            if event.last_at and abs(view.started_at - event.last_at) < limit:
                is_about_unready_node = event.kind == "Node" and event.name in unready_nodes
                yield replace(build_state(view, event), symptom=NODE_NOT_READY if is_about_unready_node else "")

    probes: tuple[Probe[Any], ...] = (events, NODES, pods) if pods else (events, NODES)
    return Observer(events.id.replace(".", "-"), title, observe_warnings, probes, is_needed=is_needed)


def is_over(event: WarningEvent, pods: Collection[PodState]) -> bool:
    """Tell whether a controller has made a pod since it could not, or in the same second: it tries again and again."""
    owner = f"{event.kind}/{event.name}"
    creations = [pod.created_at for pod in pods if pod.namespace == event.namespace and pod.owner == owner]
    return event.last_at is not None and any(time is not None and time >= event.last_at for time in creations)


def has_started_since(event: WarningEvent, pod: PodState) -> bool:
    """Tell whether a container of a pod started after what had kept all of them from it."""
    starts = [
        time for container in pod.containers for time in (container.started_at, container.last_started_at) if time
    ]
    return event.reason in EARLY_REASONS and event.last_at is not None and any(time >= event.last_at for time in starts)


def is_accepted(spec: Spec, event: WarningEvent) -> bool:
    """Tell whether the spec says that what the kubelet warns of is right (kubernetes/kubernetes
    pkg/kubelet/events/event.go, CgroupV1)."""
    return event.reason == "CgroupV1" and not spec.kubelet.fail_cgroup_v1


def build_state(view: View, event: WarningEvent) -> AbnormalState:
    """Build the note of an event. What is about a ReplicaSet may be a state of its Deployment."""
    kind, namespace = event.kind.lower(), event.namespace
    is_replica_set = event.kind == "ReplicaSet"
    owners = (f"deployment {namespace}/{event.name.rpartition('-')[0]}",) if is_replica_set else ()
    kubectl = Command("kubectl", "-n", namespace) if namespace else Command("kubectl")
    return AbnormalState(
        "warning",
        "note",
        (locate_node(view, event.name) if event.kind == "Node" else CLUSTER,),
        (event.subject,),
        f"{event.reason}: {event.message}",
        kubectl.extend("describe", kind, event.name) if kind and event.name else kubectl.extend("get", "events"),
        event.first_at,
        event.count,
        members=(event.subject, *owners),
        topic=f"{kind} {event.reason}",
    )


OBSERVERS = (
    build_observer(warning_events.NODE_WARNINGS, "Warnings about nodes"),
    build_observer(warning_events.SYSTEM_WARNINGS, "Warnings in kube-system", SYSTEM_PODS),
    build_observer(warning_events.FLANNEL_WARNINGS, "Warnings in kube-flannel", FLANNEL_PODS),
    build_observer(warning_events.GPU_WARNINGS, "Warnings in the namespace of the GPU operator", GPU_PODS),
    build_observer(
        warning_events.MONITORING_WARNINGS,
        "Warnings in the namespace of monitoring",
        MONITORING_PODS,
        lambda spec: spec.monitoring.enabled,
    ),
    build_observer(
        warning_events.KEDA_WARNINGS,
        "Warnings in the namespace of KEDA",
        KEDA_PODS,
        lambda spec: spec.autoscaling.enabled,
    ),
)
