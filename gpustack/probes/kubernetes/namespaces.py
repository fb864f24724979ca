"""Namespaces of the cluster, and those that are being deleted."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects

ENFORCE = "pod-security.kubernetes.io/enforce"


@dataclass(frozen=True)
class EndingNamespace:
    """Describe a namespace that is being deleted: since when, and the blockers that its controller names."""

    deleted_at: datetime
    blockers: tuple[str, ...]


def parse_namespaces(answer: Answer) -> Mapping[str, tuple[str, str]]:
    """Parse (phase, enforced level of Pod Security) by name; the level is empty where none is set."""
    return {
        str(entry["metadata"]["name"]): (
            str(entry["status"]["phase"]),
            str(entry["metadata"].get("labels", {}).get(ENFORCE, "")),
        )
        for entry in list_objects(answer)
    }


def parse_ending_namespaces(answer: Answer) -> Mapping[str, EndingNamespace]:
    """Parse the namespaces that are being deleted, by name."""
    namespaces = {}
    for entry in list_objects(answer):
        conditions = entry["status"].get("conditions", ())
        blockers = tuple(
            condition["message"]
            for condition in conditions
            if condition["status"] == "True" and condition["type"] in BLOCKING_CONDITIONS
        )
        deleted_at = datetime.fromisoformat(entry["metadata"]["deletionTimestamp"])
        namespaces[str(entry["metadata"]["name"])] = EndingNamespace(deleted_at, blockers)
    return namespaces


# Types of conditions of a namespace that is being deleted: kubernetes/api core/v1/types.go. That content remains is
# said of every one for a while.
BLOCKING_CONDITIONS = (
    "NamespaceFinalizersRemaining",
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionContentFailure",
)

NAMESPACES = Probe(
    "kube.namespaces", Api("/api/v1/namespaces", ("metadata.name", "metadata.labels", "status.phase")), parse_namespaces
)
ENDING_NAMESPACES = Probe(
    "kube.ending-namespaces",
    Api(
        "/api/v1/namespaces?fieldSelector=status.phase%3DTerminating",
        ("metadata.name", "metadata.deletionTimestamp", "status.conditions"),
    ),
    parse_ending_namespaces,
)
