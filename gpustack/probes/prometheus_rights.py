"""What Prometheus may read, by the API's own rules (RBAC), and who else runs an operator of it.

Rules are added up: https://kubernetes.io/docs/reference/access-authn-authz/rbac. What Prometheus asks of the API:
prometheus-operator Documentation/platform/rbac.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kube import entries, entries_if_known

RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUPS = ("system:serviceaccounts", "system:authenticated")


@dataclass(frozen=True)
class Rule:
    verbs: tuple[str, ...]
    groups: tuple[str, ...]
    resources: tuple[str, ...]

    def allows(self, verb: str, group: str, resource: str) -> bool:
        asked = ((verb, self.verbs), (group, self.groups), (resource, self.resources))
        return all(one in said or "*" in said for one, said in asked)


@dataclass(frozen=True)
class Binding:
    """`namespace` is empty for the whole cluster; `role` is (kind, name); `accounts` are namespace/name, `groups` those
    of groups."""

    namespace: str
    role: tuple[str, str]
    accounts: tuple[str, ...]
    groups: tuple[str, ...]

    def is_for(self, account: str) -> bool:
        space = account.partition("/")[0]
        return account in self.accounts or bool({*GROUPS, f"system:serviceaccounts:{space}"} & set(self.groups))


@dataclass(frozen=True)
class Operator:
    """A Deployment that runs prometheus-operator. `narrowed`: it is told which namespaces or objects are its."""

    namespace: str
    name: str
    running: bool
    narrowed: bool


def bindings(answer: Answer) -> tuple[Binding, ...]:
    return tuple(binding(entry) for entry in entries(answer))


def binding(entry: Any) -> Binding:
    metadata, role, subjects = entry["metadata"], entry["roleRef"], entry.get("subjects") or ()
    space = metadata.get("namespace", "")
    return Binding(
        space,
        (role["kind"], role["name"]),
        tuple(
            f"{one.get('namespace', space)}/{one['name']}" for one in subjects if one.get("kind") == "ServiceAccount"
        ),
        tuple(one["name"] for one in subjects if one.get("kind") == "Group"),
    )


def roles(answer: Answer) -> Mapping[str, tuple[Rule, ...]]:
    """By `namespace/name`, the first empty for a ClusterRole."""
    found = ((entry["metadata"], entry.get("rules") or ()) for entry in entries(answer))
    return {f"{at.get('namespace', '')}/{at['name']}": tuple(rule(one) for one in said) for at, said in found}


def rule(said: Any) -> Rule:
    named = bool(said.get("resourceNames"))
    kinds = () if named else said.get("resources") or ()
    return Rule(tuple(said["verbs"]), tuple(said.get("apiGroups") or ()), tuple(kinds))


def accounts(answer: Answer) -> Mapping[str, str] | None:
    """The service account of each Prometheus, both as `namespace/name`; None while the API does not know the kind."""
    known = entries_if_known(answer)
    if known is None:
        return None
    found = ((entry["metadata"], entry.get("spec", {})) for entry in known)
    return {
        f"{at['namespace']}/{at['name']}": f"{at['namespace']}/{spec.get('serviceAccountName') or 'default'}"
        for at, spec in found
    }


def operators(answer: Answer) -> tuple[Operator, ...]:
    return tuple(
        Operator(
            entry["metadata"]["namespace"],
            entry["metadata"]["name"],
            entry.get("status", {}).get("readyReplicas", 0) > 0,
            any(said(container, *NARROWING) for container in ours),
        )
        for entry in entries(answer)
        if (ours := [one for one in entry["spec"]["template"]["spec"]["containers"] if runs(one.get("image", ""))])
    )


def runs(image: str) -> bool:
    return image.rpartition("/")[2].partition(":")[0].partition("@")[0] == "prometheus-operator"


def said(container: Any, *flags: str) -> bool:
    return any(word.startswith(flags) for word in container.get("args") or ())


NARROWING = (
    "--namespaces=", "--prometheus-instance-namespaces=", "--controller-id=", "--prometheus-instance-selector="
)  # fmt: skip


def may(
    account: str, namespace: str, verb: str, group: str, resource: str,
    bound: Iterable[Binding], known: Mapping[str, tuple[Rule, ...]],
) -> bool:  # fmt: skip
    """Whether a service account may do that in a namespace."""
    for one in bound:
        if one.namespace in ("", namespace) and one.is_for(account):
            kind, name = one.role
            rules = known.get(f"{'' if kind == 'ClusterRole' else one.namespace}/{name}", ())
            if any(rule.allows(verb, group, resource) for rule in rules):
                return True
    return False


BOUND = ("metadata.name", "metadata.namespace", "roleRef", "subjects")
ALLOWED = ("metadata.name", "metadata.namespace", "rules")
CLUSTER_BINDINGS = Probe("rbac.cluster-bindings", Api(f"{RBAC}/clusterrolebindings", BOUND), bindings)
BINDINGS = Probe("rbac.bindings", Api(f"{RBAC}/rolebindings", BOUND), bindings)
CLUSTER_ROLES = Probe("rbac.cluster-roles", Api(f"{RBAC}/clusterroles", ALLOWED), roles)
ROLES = Probe("rbac.roles", Api(f"{RBAC}/roles", ALLOWED), roles)
ACCOUNTS = Probe(
    "monitoring.accounts",
    Api(
        "/apis/monitoring.coreos.com/v1/prometheuses",
        ("metadata.name", "metadata.namespace", "spec.serviceAccountName"),
    ),
    accounts,
    ends=(0, 1),
)
OPERATORS = Probe(
    "monitoring.operators",
    Api(
        "/apis/apps/v1/deployments",
        (
            "metadata.name", "metadata.namespace", "status.readyReplicas", "spec.template.spec.containers.image",
            "spec.template.spec.containers.args",
        ),
    ),
    operators,
)  # fmt: skip
