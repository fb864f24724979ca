"""ClusterRoles of the platform that nobody has: the program that needs one runs, and the API server refuses it all that
it asks for."""

from collections.abc import Iterator

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.spec import Spec
from gpustack.doctor.states.ownership import INSTANCE, MANAGED_BY, list_releases
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.kubernetes.cluster_roles import CLUSTER_ROLES, ROLE_BINDINGS, ClusterRole

ADDONS = {"kube-system/kube-proxy": "system:node-proxier", "kube-system/coredns": "system:coredns"}
"""The ServiceAccounts of the programs that kubeadm installs, and their ClusterRoles (cmd/kubeadm/app/phases/addons)."""


def observe_roles(view: View) -> Iterator[AbnormalState]:
    """List the ClusterRoles of the platform without a binding. One whose ServiceAccount, which charts name as they name
    the role, has another role is a risk."""
    bindings = view[ROLE_BINDINGS]
    bound_roles = {binding.role for binding in bindings}
    accounts = {account.partition("/")[2] for binding in bindings for account in binding.accounts}
    for role in view[CLUSTER_ROLES]:
        if role.name not in bound_roles and not role.aggregated and is_platform_role(view.spec, role):
            yield build_state(role.name, "no ClusterRoleBinding has it", "risk" if role.name in accounts else "broken")


def is_platform_role(spec: Spec, role: ClusterRole) -> bool:
    instances = {name for _, name in list_releases(spec)}
    return role.labels.get(MANAGED_BY) == "gpustack" or role.labels.get(INSTANCE) in instances


def observe_addons(view: View) -> Iterator[AbnormalState]:
    """List the programs of kubeadm that lack their ClusterRole."""
    bindings = view[ROLE_BINDINGS]
    for account, role in ADDONS.items():
        roles = {binding.role for binding in bindings if account in binding.accounts}
        if role not in roles:
            message = f"no ClusterRoleBinding gives it to the ServiceAccount {account}"
            yield build_state(role, message, "risk" if roles else "broken")


def build_state(role: str, message: str, severity: Severity) -> AbnormalState:
    words = f"{message}: the API server answers its program with Forbidden"
    command = Command("kubectl", "get", "clusterrolebindings", "-o", "wide")
    return AbnormalState("role-unbound", severity, (CLUSTER,), (f"clusterrole {role}",), words, command)


OBSERVERS = (
    Observer("bindings", "ClusterRoles of the platform", observe_roles, (CLUSTER_ROLES, ROLE_BINDINGS)),
    Observer("addon-bindings", "ClusterRoles of kube-proxy and CoreDNS", observe_addons, (ROLE_BINDINGS,)),
)
