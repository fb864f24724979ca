"""Namespaces: which there are, and whether one is being deleted."""

from collections.abc import Mapping

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kube import entries

ENFORCE = "pod-security.kubernetes.io/enforce"


def namespaces(answer: Answer) -> Mapping[str, tuple[str, str]]:
    """(phase, level of Pod Security that is enforced) by name; the level is empty where none is said."""
    return {
        str(entry["metadata"]["name"]): (
            str(entry["status"]["phase"]),
            str(entry["metadata"].get("labels", {}).get(ENFORCE, "")),
        )
        for entry in entries(answer)
    }


NAMESPACES = Probe(
    "kube.namespaces", Api("/api/v1/namespaces", ("metadata.name", "metadata.labels", "status.phase")), namespaces
)
