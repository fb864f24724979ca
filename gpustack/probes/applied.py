"""Objects that steps of ours applied, by their metadata: which there are, and whether somebody else changed them.

Each has the label `app.kubernetes.io/managed-by: gpustack` and the digest of what was applied as an annotation. The API
server notes who wrote to an object in managedFields (https://kubernetes.io/docs/reference/using-api/server-side-apply).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kube import entries
from gpustack.probes.monitoring import ABSENT

MANAGER = "gpustack"
# `kubectl rollout restart` writes a time into the template of pods: nothing that an administrator may not do.
RESTARTS = "kubectl-rollout"
LABEL, DIGEST = "app.kubernetes.io/managed-by", "gpustack/digest"
OURS = f"labelSelector={LABEL}%3D{MANAGER}"
KEEP = (
    "metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.managedFields.manager",
    "metadata.managedFields.subresource",
)  # fmt: skip


@dataclass(frozen=True)
class Applied:
    """`digest` is of what we applied, `others` are those who wrote to it beside us."""

    digest: str
    others: tuple[str, ...]


def applied(answer: Answer) -> Mapping[str, Applied] | None:
    """By `namespace/name`, the first empty for what is in none; None while the API does not know the kind. Raises
    ValueError for another refusal."""
    if answer.rc:
        if ABSENT in answer.err:
            return None
        raise ValueError(answer.err)
    metadata = [entry["metadata"] for entry in entries(answer)]
    return {f"{found.get('namespace', '')}/{found['name']}": one(found) for found in metadata}


def one(metadata: dict[str, Any]) -> Applied:
    """A controller that writes a status is none that changes the object."""
    writers = {
        str(entry.get("manager", "")) for entry in metadata.get("managedFields", ()) if not entry.get("subresource")
    }
    return Applied(str(metadata.get("annotations", {}).get(DIGEST, "")), tuple(sorted(writers - {MANAGER, RESTARTS})))


def probe(id: str, path: str) -> Probe[Mapping[str, Applied] | None]:
    return Probe(id, Api(f"{path}?{OURS}", KEEP, metadata=True), applied, ends=(0, 1))


CONFIG_MAPS = probe("applied.config-maps", "/api/v1/configmaps")
RULES = probe("applied.rules", "/apis/monitoring.coreos.com/v1/prometheusrules")
DAEMON_SETS = probe("applied.daemon-sets", "/apis/apps/v1/daemonsets")
SERVICES = probe("applied.services", "/api/v1/services")
RUNTIME_CLASSES = probe("applied.runtime-classes", "/apis/node.k8s.io/v1/runtimeclasses")
