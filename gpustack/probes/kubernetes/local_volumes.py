"""PersistentVolumes whose data is on certain nodes alone: with a node affinity by kubernetes.io/hostname, as those of
local-path and of the kind local have."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.proof import join_paths, list_field_paths

HOST_LABEL = "kubernetes.io/hostname"


@dataclass(frozen=True)
class LocalVolume:
    """Describe a volume of certain nodes. `claim` is NAMESPACE/NAME of what has it, empty where nothing does. `path` is
    the directory on the host, empty where the volume does not say it."""

    name: str
    nodes: tuple[str, ...]
    claim: str
    capacity: str
    path: str


def parse_local_volumes(answer: Answer) -> tuple[LocalVolume, ...]:
    return tuple(parse_local_volume(entry) for entry in list_objects(answer) if any(list_nodes(entry["spec"])))


def parse_local_volume(entry: Any) -> LocalVolume:
    spec = entry["spec"]
    claim = spec.get("claimRef", {})
    return LocalVolume(
        name=entry["metadata"]["name"],
        nodes=tuple(list_nodes(spec)),
        claim=f"{claim['namespace']}/{claim['name']}" if claim else "",
        capacity=spec.get("capacity", {}).get("storage", ""),
        path=(spec.get("local") or spec.get("hostPath") or {}).get("path", ""),
    )


def list_nodes(spec: Any) -> Iterator[str]:
    """List the nodes that a volume names as those that have it."""
    for term in spec.get("nodeAffinity", {}).get("required", {}).get("nodeSelectorTerms", ()):
        for expression in term.get("matchExpressions", ()):
            if expression["key"] == HOST_LABEL and expression["operator"] == "In":
                yield from expression["values"]


LOCAL_VOLUMES = Probe(
    "node.local-volumes",
    Api(
        "/api/v1/persistentvolumes",
        join_paths(
            list_field_paths("metadata", "name"),
            list_field_paths("spec.claimRef", "namespace", "name"),
            list_field_paths("spec", "capacity.storage", "local.path", "hostPath.path"),
            list_field_paths(
                "spec.nodeAffinity.required.nodeSelectorTerms.matchExpressions", "key", "operator", "values"
            ),
        ),
    ),
    parse_local_volumes,
)
