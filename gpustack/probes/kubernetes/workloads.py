"""Workloads of a namespace: Deployments, DaemonSets and StatefulSets, as their controllers report them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import find_pod_refusal, list_objects
from gpustack.probes.parsing import parse_optional_time

FIELDS = (
    "metadata.name", "metadata.labels", "metadata.generation", "spec.replicas", "spec.selector.matchLabels", "status",
    "spec.template.spec.nodeSelector",
)  # fmt: skip
ROLLED_OUT = "NewReplicaSetAvailable"
"""The reason of the condition Progressing after a rollout (kubernetes/kubernetes pkg/controller/deployment/util)."""


@dataclass(frozen=True)
class Stall:
    """Describe why a Deployment has too few pods: the controller's `message`, and the `onset`. `available`: the pods
    that it has are enough to serve."""

    message: str
    onset: datetime | None
    available: bool


@dataclass(frozen=True)
class Workload:
    """Describe a workload: `desired_pods`, `created_pods` and `ready` count pods, and those of a DaemonSet are counted
    by nodes; `current`: all of them are of the present template; `labels` are its own and those by which it selects its
    pods; `node_selector` are the labels of nodes that its pods need; `refusal` is as `find_pod_refusal` returns it, and
    `stall` as `find_stall`."""

    desired_pods: int
    ready: int
    current: bool
    refusal: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    created_pods: int = 0
    stall: Stall | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> bool:
        return self.current and self.ready >= self.desired_pods


def parse_workloads(answer: Answer) -> Mapping[str, Workload]:
    """Parse the workloads of one namespace by name."""
    return {entry["metadata"]["name"]: parse_workload(entry) for entry in list_objects(answer)}


def parse_workload(entry: Any) -> Workload:
    """Parse a Deployment or StatefulSet (spec.replicas), or a DaemonSet."""
    status = entry["status"]
    labels = {**entry.get("spec", {}).get("selector", {}).get("matchLabels", {}), **entry["metadata"].get("labels", {})}
    is_observed = status.get("observedGeneration") == entry["metadata"]["generation"]
    if "replicas" in entry.get("spec", {}):
        desired_pods: int = entry["spec"]["replicas"]
        is_current = is_observed and status.get("updatedReplicas", 0) >= desired_pods
        ready, created_pods = status.get("readyReplicas", 0), status.get("replicas", 0)
        refusal = find_pod_refusal(status)
        return Workload(desired_pods, ready, is_current, refusal, labels, created_pods, find_stall(status))
    desired_pods = status.get("desiredNumberScheduled", 0)
    is_current = is_observed and status.get("updatedNumberScheduled", 0) >= desired_pods
    created_pods = status.get("currentNumberScheduled", 0)
    ready, selector = status.get("numberReady", 0), find_node_selector(entry)
    return Workload(desired_pods, ready, is_current, labels=labels, created_pods=created_pods, node_selector=selector)


def find_node_selector(entry: Any) -> Mapping[str, str]:
    """Return the labels of nodes that the pods of a DaemonSet need, without any for none and in older recordings."""
    template = entry.get("spec", {}).get("template", {})
    return {str(name): str(value) for name, value in template.get("spec", {}).get("nodeSelector", {}).items()}


def find_stall(status: Any) -> Stall | None:
    """Find why a Deployment gets no further, or lost pods after its rollout; None where it has what it needs or is on
    its way. The controllers of DaemonSets and StatefulSets set no such condition."""
    conditions = {condition["type"]: condition for condition in status.get("conditions", ())}
    progress, availability = conditions.get("Progressing", {}), conditions.get("Available", {})
    is_available = availability.get("status") == "True"
    if progress.get("status") == "False":
        stall_condition = progress
    elif availability.get("status") == "False" and progress.get("reason") == ROLLED_OUT:
        stall_condition = availability
    else:
        return None
    onset = parse_optional_time(stall_condition.get("lastTransitionTime"))
    return Stall(shorten_message(str(stall_condition.get("message", ""))), onset, is_available)


def build_probe(id: str, kind: str, namespace: str) -> Probe[Mapping[str, Workload]]:
    return Probe(id, Api(f"/apis/apps/v1/namespaces/{namespace}/{kind}", FIELDS), parse_workloads)


SYSTEM_DEPLOYMENTS = build_probe("workloads.system-deployments", "deployments", "kube-system")
SYSTEM_DAEMON_SETS = build_probe("workloads.system-daemon-sets", "daemonsets", "kube-system")
FLANNEL_DAEMON_SETS = build_probe("workloads.flannel-daemon-sets", "daemonsets", "kube-flannel")
MONITORING_DEPLOYMENTS = build_probe("monitoring.deployments", "deployments", "$MONITORING")
MONITORING_DAEMON_SETS = build_probe("monitoring.daemon-sets", "daemonsets", "$MONITORING")
MONITORING_STATEFUL_SETS = build_probe("monitoring.stateful-sets", "statefulsets", "$MONITORING")
KEDA_DEPLOYMENTS = build_probe("autoscaling.deployments", "deployments", "$KEDA")
