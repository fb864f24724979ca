"""Namespaces: which there are, and whether one is being deleted."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries

ENFORCE = "pod-security.kubernetes.io/enforce"


@dataclass(frozen=True)
class Ending:
    """A namespace that is being deleted: since when, and what its controller says keeps it."""

    since: datetime
    kept: tuple[str, ...]


def namespaces(answer: Answer) -> Mapping[str, tuple[str, str]]:
    """(phase, level of Pod Security that is enforced) by name; the level is empty where none is said."""
    return {
        str(entry["metadata"]["name"]): (
            str(entry["status"]["phase"]),
            str(entry["metadata"].get("labels", {}).get(ENFORCE, "")),
        )
        for entry in entries(answer)
    }


def read_ending(answer: Answer) -> Mapping[str, Ending]:
    """By name."""
    found = {}
    for entry in entries(answer):
        conditions = entry["status"].get("conditions", ())
        kept = tuple(one["message"] for one in conditions if one["status"] == "True" and one["type"] in KEEPS)
        since = datetime.fromisoformat(entry["metadata"]["deletionTimestamp"])
        found[str(entry["metadata"]["name"])] = Ending(since, kept)
    return found


# Types of conditions of a namespace that is being deleted: kubernetes/api core/v1/types.go. That content remains is
# said of every one for a while.
KEEPS = ("NamespaceFinalizersRemaining", "NamespaceDeletionDiscoveryFailure", "NamespaceDeletionContentFailure")

NAMESPACES = Probe(
    "kube.namespaces", Api("/api/v1/namespaces", ("metadata.name", "metadata.labels", "status.phase")), namespaces
)
ENDING = Probe(
    "kube.ending-namespaces",
    Api(
        "/api/v1/namespaces?fieldSelector=status.phase%3DTerminating",
        ("metadata.name", "metadata.deletionTimestamp", "status.conditions"),
    ),
    read_ending,
)
