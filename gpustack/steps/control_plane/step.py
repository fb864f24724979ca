"""Control plane: one host runs the Kubernetes API server, the controllers, the scheduler and etcd.

`kubeadm init` is run once, from /etc/kubernetes/gpustack-kubeadm.yaml, which is kept for later `kubeadm init phase …`
by hand. An interrupted initialisation is resumed by the next install. All other obstacles (files of another cluster, an
API server that does not respond) are reported and left to you: nothing is ever reset, and no file of an existing
cluster is rewritten. What is fixed when the cluster is created (endpoint, networks, DNS domain, settings of the
kubelets and of kube-proxy) is compared and not changed by install.

Root gets /root/.kube/config (mode 0600) from admin.conf if there is none. super-admin.conf is neither changed nor used.
The bootstrap token that kubeadm creates is not printed, and is deleted at once.

Settings: kubernetes.*, kubelet.failCgroupV1, kube_proxy.*, swap. Sources: kubeadm.k8s.io/v1beta4; kubeadm init phases
in the Kubernetes reference.
"""

from gpustack.ask.judge import Result, expect
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.resolution import resolve_kubernetes_version
from gpustack.probes.control_plane.kubeadm import CERTIFICATES, COMPONENT_LISTENERS, CONFIG, FILES, JOIN_TOKEN, SETTINGS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubernetes.nodes import DEPLOYMENTS, NODES, READYZ, VERSION
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.control_plane import host as control_plane_host
from gpustack.steps.control_plane import settings as control_plane_settings
from gpustack.steps.control_plane.host import choose_cure
from gpustack.steps.own_node import address, find_node
from gpustack.steps.step import Step


def api(view: View) -> Result | None:
    """The API server reports that it is ready."""
    readiness = view[READYZ]
    if readiness.ready:
        return None
    hint = Prose("crictl ps -a; journalctl -u kubelet", note="on the control plane")
    return Result("API", "ready", readiness.reason, choose_cure(view), hint=hint)


def version(view: View) -> Result | None:
    """The running API server has the requested version."""
    expected_version, hint = resolve_kubernetes_version(view.spec), Command("gpustack", "explain", "upgrade-needed")
    return expect("Kubernetes API", expected_version, view[VERSION], cure="upgrade", hint=hint)


def node(view: View) -> Result | None:
    """The host is a node of the cluster: a node has its machine-id."""
    if find_node(view):
        return None
    hint = Command("systemctl", "restart", "kubelet", note="on the control plane; it registers at its start")
    expected_node = f"one with machine-id {view[IDENTITY].machine_id}"
    return Result("node of this host", expected_node, "none", choose_cure(view), hint=hint)


def dns(view: View) -> Result | None:
    """CoreDNS is deployed (whether it is running depends on the pod network, which is checked later)."""
    hint = Command("kubeadm", "init", "phase", "addon", "coredns", "--config", CONFIG)
    return expect(
        "CoreDNS", "deployed", "deployed" if "coredns" in view[DEPLOYMENTS] else "", choose_cure(view), hint=hint
    )


def join_token(view: View) -> Result | None:
    """The cluster has no token left from an interrupted join."""
    return expect("join token", "none", "one left by an interrupted join" if view[JOIN_TOKEN] else "none")


STEP = Step(
    "control-plane",
    scope="cluster",
    probes=(
        FILES,
        UNITS,
        IDENTITY,
        READYZ,
        VERSION,
        NODES,
        DEPLOYMENTS,
        CERTIFICATES,
        SETTINGS,
        COMPONENT_LISTENERS,
        JOIN_TOKEN,
        ADDRESS,
    ),
    checks=(*control_plane_host.CHECKS, api, version, node, address, dns, join_token, *control_plane_settings.CHECKS),
    needs=("prereqs", "containerd", "kubernetes"),
    settle_seconds=120,
    pulls=True,
)
