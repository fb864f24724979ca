"""What of a namespace's workloads runs: Deployments, DaemonSets and StatefulSets, as their controllers tell it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries, refusal

KEEP = ("metadata.name", "metadata.labels", "metadata.generation", "spec.replicas", "status")


@dataclass(frozen=True)
class Workload:
    """`wanted` and `ready` count pods; `current` says that all of them are of the present template; `refused` as of
    `kube.refusal`."""

    wanted: int
    ready: int
    current: bool
    refused: str = ""

    @property
    def runs(self) -> bool:
        return self.current and self.ready >= self.wanted


def workloads(answer: Answer) -> Mapping[str, Workload]:
    """By name, `namespace/name`-less: one namespace at a time."""
    return {entry["metadata"]["name"]: workload(entry) for entry in entries(answer)}


def workload(entry: Any) -> Workload:
    """Of a Deployment or StatefulSet (spec.replicas), or of a DaemonSet."""
    status = entry["status"]
    observed = status.get("observedGeneration") == entry["metadata"]["generation"]
    if "replicas" in entry.get("spec", {}):
        wanted: int = entry["spec"]["replicas"]
        current = observed and status.get("updatedReplicas", 0) >= wanted
        return Workload(wanted, status.get("readyReplicas", 0), current, refusal(status))
    wanted = status.get("desiredNumberScheduled", 0)
    return Workload(
        wanted, status.get("numberReady", 0), observed and status.get("updatedNumberScheduled", 0) >= wanted
    )


def probe(id: str, kind: str, namespace: str) -> Probe[Mapping[str, Workload]]:
    return Probe(id, Api(f"/apis/apps/v1/namespaces/${namespace}/{kind}", KEEP), workloads)


MONITORING_DEPLOYMENTS = probe("monitoring.deployments", "deployments", "MONITORING")
KEDA_DEPLOYMENTS = probe("autoscaling.deployments", "deployments", "KEDA")
MONITORING_DAEMON_SETS = probe("monitoring.daemon-sets", "daemonsets", "MONITORING")
