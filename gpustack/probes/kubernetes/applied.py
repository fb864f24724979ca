"""Objects that steps of ours applied, by their metadata: which there are, and which of their fields are still ours.

Each has the label `app.kubernetes.io/managed-by: gpustack` and the digest of what was applied as an annotation. The API
server notes in managedFields whose each field is: whoever changes or removes one takes it from us, and whoever adds one
takes nothing (https://kubernetes.io/docs/reference/using-api/server-side-apply).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.json_text import load_json
from gpustack.probes.kubernetes.nodes import entries_if_known

MANAGER = "gpustack"
LABEL, DIGEST = "app.kubernetes.io/managed-by", "gpustack/digest"
OURS = f"labelSelector={LABEL}%3D{MANAGER}"
KEEP = (
    "metadata.name", "metadata.namespace", "metadata.labels", f"metadata.annotations.{DIGEST}",
    "metadata.managedFields.manager", "metadata.managedFields.subresource", "metadata.managedFields.fieldsV1",
)  # fmt: skip
Path = tuple[str, ...]


@dataclass(frozen=True)
class Applied:
    """`digest` is of what we applied, `fields` are paths that are ours, `others` those who wrote to it beside us."""

    digest: str
    fields: tuple[Path, ...]
    others: tuple[str, ...]


def read_applied(answer: Answer) -> Mapping[str, Applied] | None:
    """By `namespace/name`, the first empty for what is in none; None while the API does not know the kind. Raises
    ValueError for another refusal."""
    known = entries_if_known(answer)
    if known is None:
        return None
    metadata = [entry["metadata"] for entry in known]
    return {f"{found.get('namespace', '')}/{found['name']}": read_managers(found) for found in metadata}


def read_managers(metadata: dict[str, Any]) -> Applied:
    """A controller that writes a status is none that changes the object."""
    written: dict[str, set[Path]] = {}
    for entry in metadata.get("managedFields", ()):
        if not entry.get("subresource"):
            written.setdefault(str(entry["manager"]), set()).update(leaves(entry.get("fieldsV1", {})))
    digest = str(metadata.get("annotations", {}).get(DIGEST, ""))
    return Applied(digest, tuple(sorted(written.pop(MANAGER, ()))), tuple(sorted(written)))


def leaves(fields: Mapping[str, Any], path: Path = ()) -> Iterator[Path]:
    """Of a fieldsV1: `f:NAME` is a field, `k:{"KEY":"VALUE"}` an entry of a list by its key, `.` the thing itself."""
    inner = {key: value for key, value in fields.items() if key != "."}
    if not inner and path:
        yield path
    for key, value in inner.items():
        kind, _, name = key.partition(":")
        named = ",".join(map(str, load_json(name).values())) if kind == "k" else name
        yield from leaves(value, (*path, named))


def probe(id: str, path: str) -> Probe[Mapping[str, Applied] | None]:
    return Probe(id, Api(f"{path}?{OURS}", KEEP, metadata=True), read_applied, ends=(0, 1))


CONFIG_MAPS = probe("applied.config-maps", "/api/v1/configmaps")
RULES = probe("applied.rules", "/apis/monitoring.coreos.com/v1/prometheusrules")
DAEMON_SETS = probe("applied.daemon-sets", "/apis/apps/v1/daemonsets")
DEPLOYMENTS = probe("applied.deployments", "/apis/apps/v1/deployments")
SERVICE_ACCOUNTS = probe("applied.service-accounts", "/api/v1/serviceaccounts")
SERVICES = probe("applied.services", "/api/v1/services")
RUNTIME_CLASSES = probe("applied.runtime-classes", "/apis/node.k8s.io/v1/runtimeclasses")
SERVICE_MONITORS = probe("applied.service-monitors", "/apis/monitoring.coreos.com/v1/servicemonitors")
