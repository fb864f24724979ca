"""Permissions of the Kubernetes API: the rules of roles, joined with the subjects of their bindings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
CLUSTER_SCOPE = "cluster"


@dataclass(frozen=True, order=True)
class Permission:
    """Hold one rule for one subject. `scope` is a namespace or `cluster`; resources are `group/resource` or a URL."""

    subject: str
    scope: str
    resources: str
    verbs: str


def find_permissions(objects: Sequence[Object], namespace: str) -> list[Permission]:
    """Join bindings with their roles; a role that is not among the objects is named by its name. `namespace` is that of
    objects which name none."""
    roles = {
        (item["kind"], item["metadata"]["name"], find_scope(item, namespace)): item.get("rules") or ()
        for item in objects
        if item["kind"] in ("Role", "ClusterRole")
    }
    permissions = set()
    for binding in objects:
        if binding["kind"] not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        scope, reference = find_scope(binding, namespace), binding["roleRef"]
        role_scope = scope if reference["kind"] == "Role" else CLUSTER_SCOPE
        rules = roles.get((reference["kind"], reference["name"], role_scope))
        for subject in binding.get("subjects") or ():
            name = format_subject(subject, namespace)
            if rules is None:
                permissions.add(Permission(name, scope, f"{reference['kind']} {reference['name']}", "as it says"))
            else:
                permissions |= {Permission(name, scope, describe_resources(rule), format_verbs(rule)) for rule in rules}
    return sorted(permissions)


def find_scope(item: Object, namespace: str) -> str:
    return CLUSTER_SCOPE if item["kind"].startswith("Cluster") else str(item["metadata"].get("namespace", namespace))


def format_subject(subject: Object, namespace: str) -> str:
    """Format a ServiceAccount as namespace/name, others with their kind."""
    if subject["kind"] == "ServiceAccount":
        return f"{subject.get('namespace', namespace)}/{subject['name']}"
    return f"{subject['kind']} {subject['name']}"


def describe_resources(rule: Object) -> str:
    if "nonResourceURLs" in rule:
        return join_words(rule["nonResourceURLs"])
    groups = rule.get("apiGroups") or ("",)
    text = join_words(f"{group}/{resource}".lstrip("/") for group in groups for resource in rule["resources"])
    return text + (f" named {join_words(rule['resourceNames'])}" if rule.get("resourceNames") else "")


def format_verbs(rule: Object) -> str:
    return join_words(sorted(rule["verbs"]))


def join_words(words: Iterable[str]) -> str:
    return ", ".join(words)
