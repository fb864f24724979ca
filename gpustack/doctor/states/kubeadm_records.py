"""Settings that differ from what kubeadm would write: flags of the control plane that neither kubeadm nor the
ClusterConfiguration of the cluster sets, and fields of a kubelet that the ConfigMap kubelet-config does not have.

Somebody edited a file on the host. That may be the cause of a fault, and the next `kubeadm upgrade` writes it again.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpustack.ask.judge import format_value
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.control_plane.component_flags import COMPONENT_FLAGS
from gpustack.probes.control_plane.kubeadm import SETTINGS
from gpustack.probes.kubelet.config_fields import CONFIG_FIELDS
from gpustack.probes.kubelet.settings import FILE

FLAG_TABLE = """
etcd: advertise-client-urls cert-file client-cert-auth data-dir experimental-initial-corrupt-check
 experimental-watch-progress-notify-interval feature-gates initial-advertise-peer-urls initial-cluster
 initial-cluster-state key-file listen-client-urls listen-metrics-urls listen-peer-urls name peer-cert-file
 peer-client-cert-auth peer-key-file peer-trusted-ca-file snapshot-count trusted-ca-file
 watch-progress-notify-interval
kube-apiserver: advertise-address allow-privileged authorization-mode client-ca-file enable-admission-plugins
 enable-bootstrap-token-auth etcd-cafile etcd-certfile etcd-keyfile etcd-servers feature-gates
 kubelet-client-certificate kubelet-client-key kubelet-preferred-address-types proxy-client-cert-file
 proxy-client-key-file requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix
 requestheader-group-headers requestheader-username-headers secure-port service-account-issuer
 service-account-key-file service-account-signing-key-file service-cluster-ip-range tls-cert-file
 tls-private-key-file
kube-controller-manager: allocate-node-cidrs authentication-kubeconfig authorization-kubeconfig bind-address
 client-ca-file cluster-cidr cluster-name cluster-signing-cert-file cluster-signing-key-file controllers feature-gates
 kubeconfig leader-elect requestheader-client-ca-file root-ca-file service-account-private-key-file
 service-cluster-ip-range use-service-account-credentials
kube-scheduler: authentication-kubeconfig authorization-kubeconfig bind-address feature-gates kubeconfig leader-elect
"""
"""The flags that kubeadm sets (kubernetes/kubernetes cmd/kubeadm/app/phases: controlplane/manifests.go and
etcd/local.go)."""
FIXED_VALUES = {
    ("kube-apiserver", "allow-privileged"): "true",
    ("kube-apiserver", "authorization-mode"): "Node,RBAC",
    ("kube-apiserver", "enable-admission-plugins"): "NodeRestriction",
    ("kube-apiserver", "enable-bootstrap-token-auth"): "true",
    ("kube-controller-manager", "controllers"): "*,bootstrapsigner,tokencleaner",
    ("kube-controller-manager", "leader-elect"): "true",
    ("kube-controller-manager", "use-service-account-credentials"): "true",
    ("kube-scheduler", "leader-elect"): "true",
}
"""Flags to which kubeadm gives the same value everywhere."""
PARTS = {
    "etcd": ("etcd", "local"),
    "kube-apiserver": ("apiServer",),
    "kube-controller-manager": ("controllerManager",),
    "kube-scheduler": ("scheduler",),
}
"""The parts of the ClusterConfiguration that have the further flags of a component."""
HOST_FIELDS = {"apiVersion", "kind", "containerRuntimeEndpoint", "resolvConf"}
"""Fields of a kubelet that kubeadm chooses for each host."""


def parse_own(text: str) -> dict[str, set[str]]:
    """Parse lines `COMPONENT: FLAG…`, which go on in lines with a space."""
    lines = text.strip().replace("\n ", " ").splitlines()
    return {component: set(names.split()) for component, _, names in (line.partition(":") for line in lines)}


OWN_FLAGS = parse_own(FLAG_TABLE)


def observe_flags(view: View) -> Iterator[AbnormalState]:
    """List the components with flags that kubeadm does not know of, where the cluster has a ClusterConfiguration."""
    cluster = view[SETTINGS].cluster
    if not cluster:
        return
    for component, flags in view[COMPONENT_FLAGS].items():
        further_flags = read_further_flags(cluster, component)
        foreign_flags = [
            f"--{name}={value}" if value else f"--{name}"
            for name, value in flags.items()
            if not is_known(component, name, value, further_flags)
        ]
        if foreign_flags:
            message = f"it has {format_value(foreign_flags)}, which neither kubeadm nor its ClusterConfiguration sets: "
            message += "somebody edited the manifest, and the next kubeadm upgrade writes it again"
            command = Command("grep", "-e", "- --", f"/etc/kubernetes/manifests/{component}.yaml")
            yield build_state(view.location, "risk", f"static pod {component}", message, command)


def read_further_flags(cluster: Mapping[str, Any], component: str) -> dict[str, str]:
    """Read the extraArgs of a component: a list since kubeadm.k8s.io/v1beta4, a mapping before."""
    part: Any = cluster
    for name in PARTS[component]:
        part = (part or {}).get(name) or {}
    arguments = part.get("extraArgs") or ()
    entries = arguments.items() if isinstance(arguments, Mapping) else ((a["name"], a["value"]) for a in arguments)
    return {str(name): str(value) for name, value in entries}


def is_known(component: str, name: str, value: str, further: Mapping[str, str]) -> bool:
    if name in further:
        return True
    return name in OWN_FLAGS[component] and FIXED_VALUES.get((component, name), value) == value


def observe_fields(view: View) -> Iterator[AbnormalState]:
    """List the fields of a kubelet that differ from the ConfigMap. A file may be patched for its host, so that this
    alone is no risk."""
    recorded_fields = view[SETTINGS].kubelet
    if recorded_fields is None:
        return
    differences = [
        f"{name}: {value}"
        for name, value in view[CONFIG_FIELDS].items()
        if name not in HOST_FIELDS and str(recorded_fields.get(name, "")) != value
    ]
    if differences:
        message = f"it has {format_value(differences)}, and the ConfigMap kube-system/kubelet-config does not"
        yield build_state(view.location, "note", f"kubelet of {view.location}", message, Command("cat", FILE))


def build_state(location: str, severity: Severity, subject: str, message: str, command: Command) -> AbnormalState:
    return AbnormalState("settings-contradict", severity, (location,), (subject,), message, command)


OBSERVERS = (
    Observer("component-flags", "Flags of the control plane", observe_flags, (COMPONENT_FLAGS, SETTINGS), scope="host"),
    Observer("kubelet-fields", "Fields of kubelets", observe_fields, (CONFIG_FIELDS, SETTINGS), scope="host"),
)
