"""The time at which each kubelet renewed its lease last. It does so every ten seconds, by the clock of its host, for as
long as it reaches the API (kubernetes/kubernetes pkg/kubelet/kubelet.go, leases of 40 seconds)."""

from collections.abc import Mapping
from datetime import datetime

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.parsing import parse_optional_time


def parse_node_leases(answer: Answer) -> Mapping[str, datetime]:
    """Parse the time of the last renewal by the name of the node. A lease without one is left out."""
    times = {
        entry["metadata"]["name"]: parse_optional_time(entry["spec"].get("renewTime")) for entry in list_objects(answer)
    }
    return {name: time for name, time in times.items() if time}


NODE_LEASES = Probe(
    "node.leases",
    Api("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", ("metadata.name", "spec.renewTime")),
    parse_node_leases,
)
