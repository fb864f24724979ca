"""Workloads of a namespace: Deployments, DaemonSets and StatefulSets, as their controllers report them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import find_pod_refusal, list_objects

KEEP = ("metadata.name", "metadata.labels", "metadata.generation", "spec.replicas", "status")


@dataclass(frozen=True)
class Workload:
    """Describe a workload: `desired_pods`, `created_pods` and `ready` count pods, and those of a DaemonSet are counted
    by nodes; `current`: all of them are of the present template; `refusal` is as `find_pod_refusal` returns it."""

    desired_pods: int
    ready: int
    current: bool
    refusal: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    created_pods: int = 0

    @property
    def runs(self) -> bool:
        return self.current and self.ready >= self.desired_pods


def parse_workloads(answer: Answer) -> Mapping[str, Workload]:
    """Parse the workloads of one namespace by name."""
    return {entry["metadata"]["name"]: parse_workload(entry) for entry in list_objects(answer)}


def parse_workload(entry: Any) -> Workload:
    """Parse a Deployment or StatefulSet (spec.replicas), or a DaemonSet."""
    status = entry["status"]
    labels = entry["metadata"].get("labels", {})
    observed = status.get("observedGeneration") == entry["metadata"]["generation"]
    if "replicas" in entry.get("spec", {}):
        desired_pods: int = entry["spec"]["replicas"]
        current = observed and status.get("updatedReplicas", 0) >= desired_pods
        ready, created_pods = status.get("readyReplicas", 0), status.get("replicas", 0)
        return Workload(desired_pods, ready, current, find_pod_refusal(status), labels, created_pods)
    desired_pods = status.get("desiredNumberScheduled", 0)
    current = observed and status.get("updatedNumberScheduled", 0) >= desired_pods
    created_pods = status.get("currentNumberScheduled", 0)
    return Workload(desired_pods, status.get("numberReady", 0), current, labels=labels, created_pods=created_pods)


def build_probe(id: str, kind: str, namespace: str) -> Probe[Mapping[str, Workload]]:
    return Probe(id, Api(f"/apis/apps/v1/namespaces/${namespace}/{kind}", KEEP), parse_workloads)


MONITORING_DEPLOYMENTS = build_probe("monitoring.deployments", "deployments", "MONITORING")
KEDA_DEPLOYMENTS = build_probe("autoscaling.deployments", "deployments", "KEDA")
MONITORING_DAEMON_SETS = build_probe("monitoring.daemon-sets", "daemonsets", "MONITORING")
