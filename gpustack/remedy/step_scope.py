"""Declarations of what a step may change when a fix plays it: files and units on hosts, objects in the cluster.

The paths that it owns on hosts are those of playbooks/files/owned.json, by which ownership is recorded. A file that
gpustack creates may be removed by its step; a file of the host is edited, and is never absent afterwards.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.doctor.entry import Fault
from gpustack.probes.host.declaration import read_declaration
from gpustack.remedy.scope import (
    PACKAGES,
    PODS,
    PRESENT,
    RUNNING,
    HostResource,
    Scope,
    Target,
    declare_drop_in,
    declare_playbook,
    list_variants,
    matches_pattern,
)  # fmt: skip
from gpustack.steps.objects import OBJECTS
from gpustack.steps.releases import RELEASES

HISTORY = "revisions in the history of the Helm release, and objects that the release did not have before"
NODE_LABELS = "labels of nodes"
RBAC = "rbac.authorization.k8s.io/v1"
FLANNEL, STORAGE = "kube-flannel", "local-path-storage"
TARGETS = {
    "flannel": (
        Target("v1", "Namespace", "", FLANNEL), Target("v1", "ServiceAccount", FLANNEL, "flannel"),
        Target(RBAC, "ClusterRole", "", "flannel"), Target(RBAC, "ClusterRoleBinding", "", "flannel"),
        Target("v1", "ConfigMap", FLANNEL, "kube-flannel-cfg"),
        Target("apps/v1", "DaemonSet", FLANNEL, "kube-flannel-ds"),
    ),
    "storage": (
        Target("v1", "Namespace", "", STORAGE),
        Target("v1", "ServiceAccount", STORAGE, "local-path-provisioner-service-account"),
        Target(RBAC, "Role", STORAGE, "local-path-provisioner-role"),
        Target(RBAC, "RoleBinding", STORAGE, "local-path-provisioner-bind"),
        Target(RBAC, "ClusterRole", "", "local-path-provisioner-role"),
        Target(RBAC, "ClusterRoleBinding", "", "local-path-provisioner-bind"),
        Target("apps/v1", "Deployment", STORAGE, "local-path-provisioner"),
        Target("storage.k8s.io/v1", "StorageClass", "", "local-path"),
        Target("v1", "ConfigMap", STORAGE, "local-path-config"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class StepScope:
    """Name the things that a step may change on a host besides the paths that it owns. `edited_files` are files of
    the host, and `irreversible_changes` says in words what a roll-back does not restore."""

    edited_files: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    startups: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    irreversible_changes: tuple[str, ...] = ()


CLOCKS = ("systemd-timesyncd", "chrony", "ntpsec", "ntp", "openntpd")
FIREWALL_UNITS = ("gpustack-firewall-metrics", "gpustack-firewall-node-ports")
RELEASE_CHANGES = (HISTORY, "Secrets", "definitions of kinds", PODS)
STEP_SCOPES: Mapping[str, StepScope] = {
    "prereqs": StepScope(
        units=CLOCKS, startups=CLOCKS,
        keys=("net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables"),
        irreversible_changes=(
            PACKAGES, "kernel modules that were loaded", "swap that was turned off and the state of its units",
        ),
    ),
    "firewall": StepScope(
        edited_files=("/etc/ufw/user.rules", "/etc/ufw/user6.rules", "/etc/firewalld/zones/trusted.xml"),
        units=FIREWALL_UNITS, startups=FIREWALL_UNITS,
        irreversible_changes=("rules that exist in the kernel only",),
    ),
    "containerd": StepScope(
        edited_files=("/etc/containerd/config.toml",), units=("containerd", "kubelet"), startups=("containerd",),
        irreversible_changes=(PACKAGES, "images that were pulled"),
    ),
    "kubernetes": StepScope(units=("kubelet",), startups=("kubelet",), irreversible_changes=(PACKAGES,)),
    "workers": StepScope(
        edited_files=("/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env"), units=("kubelet",),
        irreversible_changes=(
            "the host's membership in the cluster, its keys and certificates", "the token for joining",
        ),
    ),
    "gpu-driver": StepScope(
        units=("nvidia-persistenced", "nvidia-fabricmanager"),
        startups=("nvidia-persistenced", "nvidia-fabricmanager"),
        irreversible_changes=(PACKAGES, "kernel modules and the initial RAM disk"),
    ),
    "standalone-monitoring": StepScope(
        units=("prometheus", "prometheus-alertmanager"), startups=("prometheus", "prometheus-alertmanager"),
        irreversible_changes=(PACKAGES, "secrets of receivers"),
    ),
    "flannel": StepScope(irreversible_changes=(PODS,)),
    "storage": StepScope(irreversible_changes=(PODS,)),
    "monitoring": StepScope(irreversible_changes=RELEASE_CHANGES),
    "gpu-operator": StepScope(irreversible_changes=RELEASE_CHANGES),
    "autoscaling": StepScope(irreversible_changes=RELEASE_CHANGES),
    "gpu-plugin": StepScope(irreversible_changes=("objects that it deletes", NODE_LABELS, PODS)),
    "gpu-metrics": StepScope(irreversible_changes=("objects that it deletes", PODS)),
    "dashboards": StepScope(irreversible_changes=("objects that it deletes",)),
    "taint": StepScope(irreversible_changes=("taints of nodes",)),
}  # fmt: skip
# A token for joining, which lies there for seconds, and secrets of receivers.
NEVER_COPIED = ("/run/gpustack-join.yaml", "/etc/gpustack-cluster/standalone/receivers/*")


def declare_resources(step: str) -> tuple[HostResource, ...]:
    """Declare the files, folders, units and parameters that a step may change on a host."""
    declaration, scope = read_declaration().get(step, {}), STEP_SCOPES[step]
    paths = [
        name for name in (*declaration.get("file", ()), *declaration.get("marked", ())) if name not in NEVER_COPIED
    ]
    edited_paths = (*declaration.get("lines", ()), *scope.edited_files)
    folders = sorted(declaration.get("folder", ()))
    return (
        *(HostResource("folder", name) for name in folders if any(path.startswith(f"{name}/") for path in paths)),
        *(HostResource("pattern" if "*" in name else "file", name) for name in paths),
        *(HostResource("file", name, (PRESENT,)) for name in edited_paths),
        *(HostResource("unit", name, RUNNING) for name in scope.units),
        *(HostResource("startup", name, ("enabled",)) for name in scope.startups),
        *(HostResource("key", name, ("1",)) for name in scope.keys),
    )


def list_agreed_patterns() -> list[str]:
    """List the patterns of foreign files that turn CRI off, which a fix edits after a person agreed."""
    return [pattern for pattern in read_declaration()["containerd-configuration"]["lines"] if "*" in pattern]


def declare_step(snapshot: Snapshot, step: str, agreed_files: Iterable[str] = (), *, on_cluster: bool = False) -> Scope:
    """Declare what a step changes on a host. `agreed_files` are foreign files, named below /etc/containerd, that the
    fix may edit. Raise FactUnavailable where the step's objects are not known, and for a name that is no such file."""
    irreversible_changes = STEP_SCOPES[step].irreversible_changes
    resources = (
        *declare_resources(step),
        *(HostResource("file", require_path(name), (PRESENT,)) for name in agreed_files),
    )
    if not on_cluster:
        return Scope(resources, irreversible_changes=irreversible_changes)
    view = View(snapshot, CLUSTER)
    release = None
    if step in RELEASES and RELEASES[step].condition(view):
        helm_release = RELEASES[step].builder(view)
        release = (helm_release.namespace, helm_release.name)
    return Scope(resources, (*TARGETS.get(step, ()), *list_objects(view, step)), release, irreversible_changes)


def list_objects(view: View, step: str) -> tuple[Target, ...]:
    """List the objects that a step applies or deletes. Raise FactUnavailable where they are not known."""
    desired_objects = OBJECTS[step](view) if step in OBJECTS else {}
    documents = [*desired_objects.get("objects", ()), *desired_objects.get("dropped", ())]
    return tuple(
        Target(
            document["apiVersion"],
            document["kind"],
            document["metadata"].get("namespace", ""),
            document["metadata"]["name"],
        )
        for document in documents
    )


def require_path(name: str) -> str:
    """Return the whole path of a file of containerd that a host named. Raise FactUnavailable for any other name."""
    path = f"/etc/containerd/{name}"
    if not path.isprintable() or not any(matches_pattern(pattern, path) for pattern in list_agreed_patterns()):
        raise FactUnavailable(f"{name!r} is no file of containerd")
    return path


def may_change_objects(fault: Fault | None) -> bool:
    """Tell whether the remedy of a fault may change objects of the cluster."""
    remedy = fault.remedy if fault else None
    return bool(remedy and (remedy.rollout or remedy.step in {*TARGETS, *OBJECTS, *RELEASES}))


def declare_fault(fault: Fault | None) -> Scope:
    """Declare everything that the remedy of a fault may ever change on a host, which is nothing without a fault."""
    remedy = fault.remedy if fault else None
    if remedy is None:
        return Scope()
    if remedy.step:
        agreed_files = (
            HostResource("pattern", pattern) for pattern in list_agreed_patterns() if remedy.step == "containerd"
        )
        return Scope((*declare_resources(remedy.step), *agreed_files))
    if remedy.drop_in:
        scopes = [declare_drop_in(vars(variant)) for variant in list_variants(remedy.drop_in)]
        return Scope(tuple(resource for scope in scopes for resource in scope.resources))
    return declare_playbook(remedy, {})
