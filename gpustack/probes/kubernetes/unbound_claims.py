"""PersistentVolumeClaims of all namespaces that have no volume: they wait for one, or have lost it.

Phases: https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/persistent-volume-claim-v1.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.probe import Api, Probe
from gpustack.ask.prune import keep_items
from gpustack.probes.kubernetes.nodes import parse_each
from gpustack.probes.parsing import parse_optional_time

BOUND_PHASE, LOST_PHASE = "Bound", "Lost"


@dataclass(frozen=True)
class UnboundClaim:
    """Describe a claim without a volume. `volume` is the name of the one that it asks for, empty where any will do."""

    namespace: str
    name: str
    volume: str
    lost: bool
    created_at: datetime | None

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def parse_claim(entry: Any) -> UnboundClaim:
    metadata = entry["metadata"]
    return UnboundClaim(
        metadata["namespace"],
        metadata["name"],
        entry.get("spec", {}).get("volumeName", ""),
        entry.get("status", {}).get("phase") == LOST_PHASE,
        parse_optional_time(metadata.get("creationTimestamp")),
    )


def prune_claims(text: str) -> str:
    """Keep the claims without a volume."""
    return keep_items(text, lambda entry: entry.get("status", {}).get("phase") != BOUND_PHASE)


UNBOUND_CLAIMS = Probe(
    "storage.unbound-claims",
    Api(
        "/api/v1/persistentvolumeclaims",
        ("metadata.namespace", "metadata.name", "metadata.creationTimestamp", "spec.volumeName", "status.phase"),
    ),
    parse_each(parse_claim),
    pruner=prune_claims,
)
