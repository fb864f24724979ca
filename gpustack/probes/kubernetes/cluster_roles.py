"""ClusterRoles of charts and of gpustack, and the ClusterRoleBindings that give them to somebody
(rbac.authorization.k8s.io/v1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpustack.ask.api_list import read_items
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.names import PATH_SEGMENT, require_names
from gpustack.probes.kubernetes.nodes import load_body

AGGREGATION_PREFIX = "rbac.authorization.k8s.io/aggregate-to-"
"""The beginning of the labels of ClusterRoles that are parts of others, and need no binding of their own."""


@dataclass(frozen=True)
class ClusterRole:
    """Describe a ClusterRole. `aggregated`: its rules belong to another one."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def aggregated(self) -> bool:
        return any(label.startswith(AGGREGATION_PREFIX) for label in self.labels)


@dataclass(frozen=True)
class RoleBinding:
    """Describe a ClusterRoleBinding: the ClusterRole, and the ServiceAccounts that have it, as `namespace/name`."""

    name: str
    role: str
    accounts: tuple[str, ...]


def list_named_objects(answer: Answer) -> list[Any]:
    """Return the objects of a list. Raise ValueError where one has no name."""
    objects = read_items(load_body(answer))
    for entry in objects:
        require_names(entry, PATH_SEGMENT)
        if not entry["metadata"]["name"]:
            raise ValueError(entry)
    return objects


def parse_roles(answer: Answer) -> tuple[ClusterRole, ...]:
    return tuple(
        ClusterRole(entry["metadata"]["name"], entry["metadata"].get("labels", {}))
        for entry in list_named_objects(answer)
    )


def parse_bindings(answer: Answer) -> tuple[RoleBinding, ...]:
    return tuple(parse_binding(entry) for entry in list_named_objects(answer))


def parse_binding(entry: Any) -> RoleBinding:
    subjects = entry.get("subjects") or ()
    accounts = [
        f"{subject['namespace']}/{subject['name']}" for subject in subjects if subject["kind"] == "ServiceAccount"
    ]
    return RoleBinding(entry["metadata"]["name"], entry["roleRef"]["name"], tuple(accounts))


CLUSTER_ROLES = Probe(
    "rbac.cluster-roles",
    Api(
        "/apis/rbac.authorization.k8s.io/v1/clusterroles?labelSelector=app.kubernetes.io%2Fmanaged-by",
        ("metadata.name", "metadata.labels"),
        metadata=True,
    ),
    parse_roles,
)
ROLE_BINDINGS = Probe(
    "rbac.cluster-role-bindings",
    Api(
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        ("metadata.name", "roleRef.name", "subjects"),
    ),
    parse_bindings,
)
