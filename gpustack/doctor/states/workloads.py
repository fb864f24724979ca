"""Workloads of the platform that lack pods: because the API server refuses them (Pod Security, a webhook, a quota), or
for another reason."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from gpustack.ask.probe import CLUSTER, Probe
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.spec import Spec
from gpustack.doctor.states.node_hosts import NODE_NOT_READY, list_silent_nodes, locate_node
from gpustack.doctor.states.ownership import is_platform_label_set
from gpustack.doctor.states.state import AbnormalState, Kind, Observer, Severity
from gpustack.doctor.states.warning_events import RECENT_TIME
from gpustack.probes.gpu.cluster import GPU_DAEMON_SETS, GPU_DEPLOYMENTS
from gpustack.probes.kubernetes import warning_events, workloads
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import (
    FLANNEL_PODS,
    GPU_PODS,
    KEDA_PODS,
    MONITORING_PODS,
    STORAGE_PODS,
    SYSTEM_PODS,
    PodState,
)
from gpustack.probes.kubernetes.refused_pods import REFUSED_PODS
from gpustack.probes.kubernetes.storage import PROVISIONER
from gpustack.probes.kubernetes.warning_events import WarningEvent
from gpustack.probes.kubernetes.workloads import Workload

Events = Probe[tuple[WarningEvent, ...]]
Workloads = Mapping[str, Workload]
USUAL_REPLACEMENT = timedelta(seconds=60)
"""The time in which the pod of a Deployment is usually replaced, measured from the loss of its availability."""


@dataclass(frozen=True)
class Shortage:
    """Describe why a workload lacks pods: the `message` of what says it, and since when and how often it said it."""

    kind: Kind
    severity: Severity
    message: str
    onset: datetime | None = None
    count: int = 0


@dataclass(frozen=True)
class Group:
    """Hold the probes of the workloads of a namespace, by their kind, and of its pods."""

    id: str
    title: str
    choose_namespace: Callable[[Spec], str]
    probes: Mapping[str, Probe[Workloads]]
    pods: Probe[tuple[PodState, ...]]
    warnings: Events | None = None
    is_needed: Callable[[Spec], bool] = field(default=lambda _: True)


def build_observer(group: Group) -> Observer:
    def observe_workloads(view: View) -> Iterator[AbnormalState]:
        namespace = group.choose_namespace(view.spec)
        for kind, probe in group.probes.items():
            for name, workload in view[probe].items():
                is_ours = is_platform_label_set(view.spec, namespace, workload.labels)
                if is_ours and (shortage := find_shortage(view, namespace, kind, name, workload)):
                    pods = [pod for pod in view[group.pods] if find_workload(pod) == f"{kind}/{name}"]
                    state = build_state(namespace, kind, name, shortage, pods)
                    unready_pods = [pod for pod in pods if not pod.ready]
                    state = add_last_warning(view, state, unready_pods, group.warnings)
                    yield add_silent_nodes(view, state, unready_pods)

    warnings = (group.warnings,) if group.warnings else ()
    probes: tuple[Probe[Any], ...] = (*group.probes.values(), REFUSED_PODS, group.pods, *warnings, NODES)
    return Observer(f"workloads-of-{group.id}", group.title, observe_workloads, probes, is_needed=group.is_needed)


def find_workload(pod: PodState) -> str:
    """Return the workload of a pod as `kind/name`. Pods of a Deployment have a ReplicaSet as their controller, with its
    name and a digest."""
    kind, _, name = pod.owner.partition("/")
    return f"Deployment/{name.rpartition('-')[0]}" if kind == "ReplicaSet" else pod.owner


def find_shortage(view: View, namespace: str, kind: str, name: str, workload: Workload) -> Shortage | None:
    """Find why a workload lacks pods; None where it has them, or has not been without them for long.

    A Deployment says itself that they are refused. Of the others events say it, which stay for an hour: a DaemonSet
    whose pods exist has got them since, and where they do not work the reason is another.
    """
    if workload.runs:
        return None
    if workload.refusal:
        return Shortage("pods-refused", "broken", workload.refusal)
    if stall := workload.stall:
        is_recent = bool(stall.onset and view.started_at - stall.onset < USUAL_REPLACEMENT)
        severity: Severity = "risk" if stall.available else "broken"
        return None if is_recent else Shortage("workload-stalled", severity, stall.message, stall.onset)
    if kind == "Deployment" or workload.created_pods >= workload.desired_pods:
        return None
    for refusal in view[REFUSED_PODS]:
        if (refusal.kind, refusal.namespace, refusal.name) == (kind, namespace, name):
            return Shortage("pods-refused", "broken", refusal.message, refusal.first_at, refusal.count)
    return Shortage("pods-missing", "broken", f"{workload.created_pods} of {workload.desired_pods} pods exist")


def build_state(namespace: str, kind: str, name: str, shortage: Shortage, pods: Iterable[PodState]) -> AbnormalState:
    """Build the state of a workload. A Deployment is stalled because of pods that exist, and these may have a state of
    their own."""
    members = tuple(f"pod {pod}" for pod in pods) if shortage.kind == "workload-stalled" else ()
    return AbnormalState(
        shortage.kind,
        shortage.severity,
        (CLUSTER,),
        (f"{kind.lower()} {namespace}/{name}",),
        shortage.message,
        Command("kubectl", "-n", namespace, "describe", kind.lower(), name),
        shortage.onset,
        shortage.count,
        members=members,
    )


def add_last_warning(
    view: View,
    state: AbnormalState,
    unready_pods: Collection[PodState],
    warnings: Events | None,
) -> AbnormalState:
    """Return the state of a stalled workload with the last warning about one of its unready pods: its controller only
    says that they are missing. Warnings that are old or unknown add nothing."""
    if state.kind != "workload-stalled" or warnings is None or not view.has_fact(warnings):
        return state
    pods = {f"pod {pod}": pod for pod in unready_pods}
    events = [
        (event.last_at, event)
        for event in view[warnings]
        if event.subject in pods and event.last_at and abs(view.started_at - event.last_at) < RECENT_TIME
    ]
    if not events:
        return state
    _, event = max(events, key=lambda entry: entry[0])
    return replace(
        state,
        message=f"{state.message.removesuffix('.')}; {event.subject}: {event.reason}: {event.message}",
        next_command=Command("kubectl", "-n", event.namespace, "describe", "pod", event.name),
    )


def add_silent_nodes(view: View, state: AbnormalState, unready_pods: Collection[PodState]) -> AbnormalState:
    """Return the state of a stalled workload with the nodes of its unready pods, where none of these is Ready: why they
    are not says more, and a cause of that is one of this."""
    nodes = list_silent_nodes(view, unready_pods) if state.kind == "workload-stalled" else ()
    if not nodes:
        return state
    hosts = tuple(sorted({locate_node(view, pod.node) for pod in unready_pods}))
    return replace(state, locations=hosts, members=(*state.members, *nodes), symptom=NODE_NOT_READY)


SYSTEM = {"Deployment": workloads.SYSTEM_DEPLOYMENTS, "DaemonSet": workloads.SYSTEM_DAEMON_SETS}
GPU = {"Deployment": GPU_DEPLOYMENTS, "DaemonSet": GPU_DAEMON_SETS}
MONITORING = {"Deployment": workloads.MONITORING_DEPLOYMENTS, "DaemonSet": workloads.MONITORING_DAEMON_SETS}
GROUPS = (
    Group(
        "kube-system",
        "Workloads of kube-system",
        lambda _: "kube-system",
        SYSTEM,
        SYSTEM_PODS,
        warning_events.SYSTEM_WARNINGS,
    ),
    Group(
        "flannel",
        "Workloads of Flannel",
        lambda _: "kube-flannel",
        {"DaemonSet": workloads.FLANNEL_DAEMON_SETS},
        FLANNEL_PODS,
        warning_events.FLANNEL_WARNINGS,
    ),
    Group(
        "storage",
        "Workloads of local-path-storage",
        lambda _: "local-path-storage",
        {"Deployment": PROVISIONER},
        STORAGE_PODS,
    ),
    Group("gpus", "Workloads of GPUs", lambda spec: spec.gpu.namespace, GPU, GPU_PODS, warning_events.GPU_WARNINGS),
    Group(
        "monitoring",
        "Workloads of monitoring",
        lambda spec: spec.monitoring.namespace,
        MONITORING,
        MONITORING_PODS,
        warning_events.MONITORING_WARNINGS,
        lambda spec: spec.monitoring.enabled,
    ),
    Group(
        "prometheus-operator",
        "StatefulSets of monitoring",
        lambda spec: spec.monitoring.namespace,
        {"StatefulSet": workloads.MONITORING_STATEFUL_SETS},
        MONITORING_PODS,
        warning_events.MONITORING_WARNINGS,
        lambda spec: spec.monitoring.enabled,
    ),
    Group(
        "keda",
        "Workloads of KEDA",
        lambda spec: spec.autoscaling.namespace,
        {"Deployment": workloads.KEDA_DEPLOYMENTS},
        KEDA_PODS,
        warning_events.KEDA_WARNINGS,
        lambda spec: spec.autoscaling.enabled,
    ),
)


OBSERVERS = tuple(build_observer(group) for group in GROUPS)
