"""Who may do what with the API: the rules of roles, joined with the subjects of their bindings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
EVERYWHERE = "cluster"


@dataclass(frozen=True, order=True)
class Permission:
    """Hold one rule for one subject. `scope` is a namespace or `cluster`; resources are `group/resource` or a URL."""

    subject: str
    scope: str
    resources: str
    verbs: str


def find_permissions(objects: Sequence[Object], namespace: str) -> list[Permission]:
    """Join bindings with the roles among OBJECTS; a role that is not among them is named by its name. `namespace` is
    that of objects which name none."""
    roles = {
        (item["kind"], item["metadata"]["name"], scope_of(item, namespace)): item.get("rules") or ()
        for item in objects
        if item["kind"] in ("Role", "ClusterRole")
    }
    found = set()
    for binding in objects:
        if binding["kind"] not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        scope, reference = scope_of(binding, namespace), binding["roleRef"]
        where = scope if reference["kind"] == "Role" else EVERYWHERE
        rules = roles.get((reference["kind"], reference["name"], where))
        for subject in binding.get("subjects") or ():
            name = subject_name(subject, namespace)
            if rules is None:
                found.add(Permission(name, scope, f"{reference['kind']} {reference['name']}", "as it says"))
            else:
                found |= {Permission(name, scope, describe_resources(rule), verbs_of(rule)) for rule in rules}
    return sorted(found)


def scope_of(item: Object, namespace: str) -> str:
    return EVERYWHERE if item["kind"].startswith("Cluster") else str(item["metadata"].get("namespace", namespace))


def subject_name(subject: Object, namespace: str) -> str:
    """Write a ServiceAccount as namespace/name, others with their kind."""
    if subject["kind"] == "ServiceAccount":
        return f"{subject.get('namespace', namespace)}/{subject['name']}"
    return f"{subject['kind']} {subject['name']}"


def describe_resources(rule: Object) -> str:
    if "nonResourceURLs" in rule:
        return join(rule["nonResourceURLs"])
    groups = rule.get("apiGroups") or ("",)
    text = join(f"{group}/{resource}".lstrip("/") for group in groups for resource in rule["resources"])
    return text + (f" named {join(rule['resourceNames'])}" if rule.get("resourceNames") else "")


def verbs_of(rule: Object) -> str:
    return join(sorted(rule["verbs"]))


def join(words: Iterable[str]) -> str:
    return ", ".join(words)
