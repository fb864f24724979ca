"""Objects that steps of gpustack applied, by their metadata: those that exist, and the fields that gpustack still
manages.

Each has the label `app.kubernetes.io/managed-by: gpustack` and the digest of what was applied as an annotation. The API
server notes in managedFields whose each field is: whoever changes or removes a field of gpustack becomes its manager,
and whoever adds one leaves gpustack's as they are (https://kubernetes.io/docs/reference/using-api/server-side-apply).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.json_text import load_json
from gpustack.probes.kubernetes.nodes import list_objects_if_known

MANAGER = "gpustack"
LABEL, DIGEST = "app.kubernetes.io/managed-by", "gpustack/digest"
MANAGED_SELECTOR = f"labelSelector={LABEL}%3D{MANAGER}"
FIELDS = (
    "metadata.name", "metadata.namespace", "metadata.labels", f"metadata.annotations.{DIGEST}",
    "metadata.managedFields.manager", "metadata.managedFields.subresource", "metadata.managedFields.fieldsV1",
)  # fmt: skip
Path = tuple[str, ...]


@dataclass(frozen=True)
class AppliedObject:
    """Hold the `digest` of what gpustack applied, the paths of the `fields` that it manages, and the `other_managers`
    that wrote to the object."""

    digest: str
    fields: tuple[Path, ...]
    other_managers: tuple[str, ...]


def parse_applied_objects(answer: Answer) -> Mapping[str, AppliedObject] | None:
    """Parse objects by `namespace/name`, with an empty namespace where the kind has none; None while the API does not
    know the kind.

    Raise ValueError where it refuses for another reason.
    """
    objects = list_objects_if_known(answer)
    if objects is None:
        return None
    metadata = [entry["metadata"] for entry in objects]
    return {
        f"{object_metadata.get('namespace', '')}/{object_metadata['name']}": parse_applied_object(object_metadata)
        for object_metadata in metadata
    }


def parse_applied_object(metadata: dict[str, Any]) -> AppliedObject:
    """Parse the metadata of an object. A controller that writes a status is no other manager."""
    fields_by_manager: dict[str, set[Path]] = {}
    for entry in metadata.get("managedFields", ()):
        if not entry.get("subresource"):
            fields_by_manager.setdefault(str(entry["manager"]), set()).update(list_leaves(entry.get("fieldsV1", {})))
    digest = str(metadata.get("annotations", {}).get(DIGEST, ""))
    return AppliedObject(digest, tuple(sorted(fields_by_manager.pop(MANAGER, ()))), tuple(sorted(fields_by_manager)))


def list_leaves(fields: Mapping[str, Any], path: Path = ()) -> Iterator[Path]:
    """List the paths of a fieldsV1: `f:NAME` is a field, `k:{"KEY":"VALUE"}` an entry of a list by its key, `.` the
    thing itself."""
    inner_fields = {key: value for key, value in fields.items() if key != "."}
    if not inner_fields and path:
        yield path
    for key, value in inner_fields.items():
        kind, _, name = key.partition(":")
        segment = ",".join(map(str, load_json(name).values())) if kind == "k" else name
        yield from list_leaves(value, (*path, segment))


def build_probe(id: str, path: str) -> Probe[Mapping[str, AppliedObject] | None]:
    return Probe(id, Api(f"{path}?{MANAGED_SELECTOR}", FIELDS, metadata=True), parse_applied_objects, exit_codes=(0, 1))


CONFIG_MAPS = build_probe("applied.config-maps", "/api/v1/configmaps")
RULES = build_probe("applied.rules", "/apis/monitoring.coreos.com/v1/prometheusrules")
DAEMON_SETS = build_probe("applied.daemon-sets", "/apis/apps/v1/daemonsets")
DEPLOYMENTS = build_probe("applied.deployments", "/apis/apps/v1/deployments")
SERVICE_ACCOUNTS = build_probe("applied.service-accounts", "/api/v1/serviceaccounts")
SERVICES = build_probe("applied.services", "/api/v1/services")
RUNTIME_CLASSES = build_probe("applied.runtime-classes", "/apis/node.k8s.io/v1/runtimeclasses")
SERVICE_MONITORS = build_probe("applied.service-monitors", "/apis/monitoring.coreos.com/v1/servicemonitors")
CRON_JOBS = build_probe("applied.cron-jobs", "/apis/batch/v1/cronjobs")
PRIORITY_CLASSES = build_probe("applied.priority-classes", "/apis/scheduling.k8s.io/v1/priorityclasses")
