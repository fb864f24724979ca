"""Who wrote to the objects of the platform last, and when, by the metadata of each object.

The API server notes for each manager of fields when it last wrote them (metadata.managedFields,
https://kubernetes.io/docs/reference/using-api/server-side-apply). A program that names itself nothing is called by its
file, such as kubectl-edit. Writes of a status are passed over. An object that was deleted leaves nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.api_list import read_items
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.json_text import dump_json, load_json
from gpustack.probes.kubernetes.nodes import list_objects_if_known
from gpustack.probes.parsing import parse_optional_time

FIELDS = (
    "metadata.name", "metadata.namespace",
    *(f"metadata.managedFields.{field}" for field in ("manager", "subresource", "time", "fieldsV1")),
)  # fmt: skip
CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
"""Managers that write what follows from other writes."""
KUBECTL = "kubectl"
"""The beginning of the name of each command of kubectl, such as kubectl-edit."""


@dataclass(frozen=True)
class ObjectWrite:
    """Describe the last write of a manager to an object. `name` is `namespace/name`, or the name alone where the kind
    has no namespaces. `fields` are the paths of what it wrote, known of people alone."""

    name: str
    manager: str
    written_at: datetime
    fields: tuple[str, ...] = ()

    @property
    def by_hand(self) -> bool:
        return self.manager.startswith(KUBECTL)


def parse_object_writes(answer: Answer) -> tuple[ObjectWrite, ...]:
    """Parse the writes; there are none while the API does not know the kind. Raise KeyError or ValueError where the
    answer has another shape."""
    return tuple(write for entry in list_objects_if_known(answer) or () for write in list_writes(entry["metadata"]))


def list_writes(metadata: dict[str, object]) -> Iterator[ObjectWrite]:
    namespace, entries = metadata.get("namespace"), metadata.get("managedFields") or ()
    if not isinstance(entries, list | tuple):
        raise ValueError("managedFields is no list")
    name = f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
    for entry in entries:
        written_at = parse_optional_time(entry.get("time"))
        if written_at and not entry.get("subresource") and entry["manager"] not in CONTROL_PLANE:
            fields = tuple(list_paths(entry.get("fieldsV1") or {}))
            yield ObjectWrite(name, str(entry["manager"]), written_at, fields)


def list_paths(fields: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """List the paths of a set of fields (sigs.k8s.io/structured-merge-diff, fieldpath): `f:` is before a name, `k:`
    before the key of an entry, `v:` before a value, and `.` is the object itself."""
    for key, inner in fields.items():
        kind, _, name = key.partition(":")
        if kind == "f":
            name = f".{name}" if path else name
        elif kind == "k":
            name = f"[{next(iter(load_json(name).values()), '')}]"
        else:
            continue
        yield from list_paths(inner, path + name) if inner else (path + name,)


def prune_fields(text: str) -> str:
    """Keep the fields that people wrote: those of programs are many."""
    items = read_items(load_json(text))
    for entry in items:
        for write in entry["metadata"].get("managedFields") or ():
            if not str(write.get("manager", "")).startswith(KUBECTL):
                write.pop("fieldsV1", None)
    return dump_json({"items": items}, separators=(",", ":"))


def build_probe(id: str, path: str) -> Probe[tuple[ObjectWrite, ...]]:
    question = Api(path, FIELDS, metadata=True)
    return Probe(id, question, parse_object_writes, exit_codes=(0, 1), pruner=prune_fields)


SYSTEM_CONFIG_MAPS = build_probe("written.system-config-maps", "/api/v1/namespaces/kube-system/configmaps")
FLANNEL_CONFIG_MAPS = build_probe("written.flannel-config-maps", "/api/v1/namespaces/kube-flannel/configmaps")
GPU_CONFIG_MAPS = build_probe("written.gpu-config-maps", "/api/v1/namespaces/$GPU_NAMESPACE/configmaps")
MONITORING_CONFIG_MAPS = build_probe("written.monitoring-config-maps", "/api/v1/namespaces/$MONITORING/configmaps")
DAEMON_SETS = build_probe("written.daemon-sets", "/apis/apps/v1/daemonsets")
SYSTEM_DEPLOYMENTS = build_probe("written.system-deployments", "/apis/apps/v1/namespaces/kube-system/deployments")
GPU_DEPLOYMENTS = build_probe("written.gpu-deployments", "/apis/apps/v1/namespaces/$GPU_NAMESPACE/deployments")
MONITORING_DEPLOYMENTS = build_probe(
    "written.monitoring-deployments", "/apis/apps/v1/namespaces/$MONITORING/deployments"
)
NODES = build_probe("written.nodes", "/api/v1/nodes")
NAMESPACES = build_probe("written.namespaces", "/api/v1/namespaces")
QUOTAS = build_probe("written.resource-quotas", "/api/v1/resourcequotas")
NETWORK_POLICIES = build_probe("written.network-policies", "/apis/networking.k8s.io/v1/networkpolicies")
CLUSTER_POLICIES = build_probe("written.cluster-policies", "/apis/nvidia.com/v1/clusterpolicies")
PROMETHEUSES = build_probe("written.prometheuses", "/apis/monitoring.coreos.com/v1/prometheuses")
MUTATING_WEBHOOKS = build_probe(
    "written.mutating-webhooks", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
)
VALIDATING_WEBHOOKS = build_probe(
    "written.validating-webhooks", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
)
OBJECT_WRITES = {
    "ConfigMap": (SYSTEM_CONFIG_MAPS, FLANNEL_CONFIG_MAPS, GPU_CONFIG_MAPS, MONITORING_CONFIG_MAPS),
    "DaemonSet": (DAEMON_SETS,),
    "Deployment": (SYSTEM_DEPLOYMENTS, GPU_DEPLOYMENTS, MONITORING_DEPLOYMENTS),
    "Node": (NODES,),
    "Namespace": (NAMESPACES,),
    "ResourceQuota": (QUOTAS,),
    "NetworkPolicy": (NETWORK_POLICIES,),
    "ClusterPolicy": (CLUSTER_POLICIES,),
    "Prometheus": (PROMETHEUSES,),
    "MutatingWebhookConfiguration": (MUTATING_WEBHOOKS,),
    "ValidatingWebhookConfiguration": (VALIDATING_WEBHOOKS,),
}
"""The probes by the kind of their objects."""
