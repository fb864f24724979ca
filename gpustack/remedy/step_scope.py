"""The declaration of what a step may change when a fix plays it: its files and units on hosts, its objects in the
cluster.

A file that gpustack creates may be removed by its step; a file of the host is edited, and is never absent afterwards.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.egress import PATHS
from gpustack.doctor.entry import Fault
from gpustack.probes.host.owned_resources import FILES, STANDALONE
from gpustack.remedy.scope import (
    PACKAGES,
    PODS,
    PRESENT,
    RUNNING,
    Scope,
    Target,
    Thing,
    declare_drop_in,
    declare_playbook,
    list_variants,
    matches_pattern,
)  # fmt: skip
from gpustack.steps.objects import OBJECTS
from gpustack.steps.releases import RELEASES

REGISTRIES = ("docker.io", "ghcr.io", "nvcr.io", "quay.io", "registry.k8s.io")
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
    """What a step may change on a host. `created` are files of gpustack, `edited` files of the host."""

    created: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    startups: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()

    @property
    def things(self) -> tuple[Thing, ...]:
        return (
            *(Thing("folder", name) for name in self.folders),
            *(Thing("pattern" if "*" in name else "file", name) for name in self.created),
            *(Thing("file", name, (PRESENT,)) for name in self.edited),
            *(Thing("unit", name, RUNNING) for name in self.units),
            *(Thing("startup", name, ("enabled",)) for name in self.startups),
            *(Thing("key", name, ("1",)) for name in self.keys),
        )


def list_owned(step: str, *left: str) -> tuple[str, ...]:
    """List the files of a step that reset removes, without folders and keys (`left`)."""
    return tuple(path for path in (*FILES[step], *PATHS.get(step, ())) if path not in left)


# Files of others that turn CRI off: a person agrees before a fix edits one.
AGREED_FILES = ("/etc/containerd/*.toml", "/etc/containerd/conf.d/*.toml")
CLOCKS = ("systemd-timesyncd", "chrony", "ntpsec", "ntp", "openntpd")
STEP_SCOPES: Mapping[str, StepScope] = {
    "prereqs": StepScope(
        list_owned(
            "prereqs", "/etc/sysctl.d/zzz-gpustack.conf", "/etc/NetworkManager/conf.d/gpustack.conf",
            "/etc/systemd/network/10-flannel.link", "/var/lib/gpustack-cluster/fixes",
        ),
        ("/etc/fstab",), ("/etc/gpustack-cluster",), CLOCKS, CLOCKS,
        ("net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables"),
        (PACKAGES, "kernel modules that were loaded", "swap that was turned off and the state of its units"),
    ),
    "firewall": StepScope(
        list_owned("firewall"),
        ("/etc/ufw/user.rules", "/etc/ufw/user6.rules", "/etc/firewalld/zones/trusted.xml"),
        ("/usr/local/lib/gpustack", "/etc/systemd/system/nftables.service.d"),
        ("gpustack-firewall-metrics",), ("gpustack-firewall-metrics",),
        beyond=("rules that exist in the kernel only",),
    ),
    "containerd": StepScope(
        (*list_owned("containerd"), *(f"/etc/containerd/certs.d/{name}/hosts.toml" for name in REGISTRIES)),
        ("/etc/containerd/config.toml",),
        ("/etc/containerd/conf.d", "/etc/containerd/certs.d",
         *(f"/etc/containerd/certs.d/{name}" for name in REGISTRIES)),
        ("containerd", "kubelet"), ("containerd",), beyond=(PACKAGES, "images that were pulled"),
    ),
    "kubernetes": StepScope(
        list_owned("kubernetes"), ("/etc/crictl.yaml",), (), ("kubelet",), ("kubelet",), beyond=(PACKAGES,)
    ),
    "workers": StepScope(
        edited=("/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env"), units=("kubelet",),
        beyond=("the host's membership in the cluster, its keys and certificates", "the token for joining"),
    ),
    "gpu-driver": StepScope(
        list_owned("gpu-driver"), units=("nvidia-persistenced", "nvidia-fabricmanager"),
        startups=("nvidia-persistenced", "nvidia-fabricmanager"),
        beyond=(PACKAGES, "kernel modules and the initial RAM disk"),
    ),
    "standalone-monitoring": StepScope(
        list_owned("standalone-monitoring", f"{STANDALONE}/receivers"), (), (STANDALONE,),
        ("prometheus", "prometheus-alertmanager"), ("prometheus", "prometheus-alertmanager"),
        beyond=(PACKAGES, "secrets of receivers"),
    ),
    "flannel": StepScope(
        ("/etc/kubernetes/gpustack-flannel/kube-flannel.yml", "/etc/kubernetes/gpustack-flannel/kustomization.yaml"),
        (), ("/etc/kubernetes/gpustack-flannel",), beyond=(PODS,),
    ),
    "storage": StepScope(
        ("/etc/kubernetes/gpustack-storage/local-path-storage.yaml",
         "/etc/kubernetes/gpustack-storage/kustomization.yaml"),
        (), ("/etc/kubernetes/gpustack-storage",), beyond=(PODS,),
    ),
    "monitoring": StepScope(beyond=(HISTORY, "Secrets", "definitions of kinds", PODS)),
    "gpu-operator": StepScope(beyond=(HISTORY, "Secrets", "definitions of kinds", PODS)),
    "autoscaling": StepScope(beyond=(HISTORY, "Secrets", "definitions of kinds", PODS)),
    "gpu-plugin": StepScope(beyond=("objects that it deletes", NODE_LABELS, PODS)),
    "gpu-metrics": StepScope(beyond=("objects that it deletes", PODS)),
    "dashboards": StepScope(beyond=("objects that it deletes",)),
    "taint": StepScope(beyond=("taints of nodes",)),
}  # fmt: skip


def declare_step(snapshot: Snapshot, step: str, agreed: Iterable[str] = (), *, on_cluster: bool = False) -> Scope:
    """Declare what a step changes on a host. `agreed` are files of others, named below /etc/containerd, that the fix
    may edit. Raises FactUnavailable where the step's objects are not known, and for a name that is no such file."""
    declared = STEP_SCOPES[step]
    things = (*declared.things, *(Thing("file", require_path(name), (PRESENT,)) for name in agreed))
    if not on_cluster:
        return Scope(things, beyond=declared.beyond)
    here = View(snapshot, CLUSTER)
    release = None
    if step in RELEASES and RELEASES[step].wanted(here):
        found = RELEASES[step].release(here)
        release = (found.namespace, found.name)
    return Scope(things, (*TARGETS.get(step, ()), *list_objects(here, step)), release, declared.beyond)


def list_objects(here: View, step: str) -> tuple[Target, ...]:
    """List the objects that a step applies or deletes. Raises FactUnavailable."""
    wanted = OBJECTS[step](here) if step in OBJECTS else {}
    documents = [*wanted.get("objects", ()), *wanted.get("dropped", ())]
    return tuple(
        Target(one["apiVersion"], one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"])
        for one in documents
    )


def require_path(name: str) -> str:
    """Return the whole path of a file of containerd that a host named. Raises FactUnavailable for any other name."""
    path = f"/etc/containerd/{name}"
    if not path.isprintable() or not any(matches_pattern(pattern, path) for pattern in AGREED_FILES):
        raise FactUnavailable(f"{name!r} is no file of containerd")
    return path


def bound_scope(fault: Fault | None) -> Scope:
    """Return everything that the remedy of a fault may ever change on a host. No fault has nothing."""
    remedy = fault.remedy if fault else None
    if remedy is None:
        return Scope()
    if remedy.step:
        agreed = (Thing("pattern", pattern) for pattern in AGREED_FILES if remedy.step == "containerd")
        return Scope((*STEP_SCOPES[remedy.step].things, *agreed))
    if remedy.drop_in:
        scopes = [declare_drop_in(vars(variant)) for variant in list_variants(remedy.drop_in)]
        return Scope(tuple(thing for scope in scopes for thing in scope.things))
    return declare_playbook(remedy, {})
