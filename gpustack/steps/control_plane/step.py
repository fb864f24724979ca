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
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.resolved import kubernetes_version_of
from gpustack.probes.control_plane.kubeadm import CERTIFICATES, CONFIG, FILES, JOIN_TOKEN, LISTENING, SETTINGS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubernetes.nodes import DEPLOYMENTS, NODES, READYZ, VERSION
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.control_plane import host as control_plane_host
from gpustack.steps.control_plane import settings as control_plane_settings
from gpustack.steps.control_plane.host import cure
from gpustack.steps.own_node import address, own
from gpustack.steps.step import Step


def api(here: View) -> Result | None:
    """The API server reports that it is ready."""
    found = here[READYZ]
    if found.ready:
        return None
    hint = Prose("crictl ps -a; journalctl -u kubelet", note="on the control plane")
    return Result("API", "ready", found.why, cure(here), hint=hint)


def version(here: View) -> Result | None:
    """The running API server has the requested version."""
    wanted, hint = kubernetes_version_of(here.spec), Command("gpustack", "explain", "upgrade-needed")
    return expect("Kubernetes API", wanted, here[VERSION], cure="upgrade", hint=hint)


def node(here: View) -> Result | None:
    """This host is a node of the cluster: a node has its machine-id."""
    if own(here):
        return None
    hint = Command("systemctl", "restart", "kubelet", note="on the control plane; it registers at its start")
    wanted = f"one with machine-id {here[IDENTITY].machine_id}"
    return Result("node of this host", wanted, "none", cure(here), hint=hint)


def dns(here: View) -> Result | None:
    """CoreDNS is deployed (whether it is running depends on the pod network, which is checked later)."""
    hint = Command("kubeadm", "init", "phase", "addon", "coredns", "--config", CONFIG)
    return expect("CoreDNS", "deployed", "deployed" if "coredns" in here[DEPLOYMENTS] else "", cure(here), hint=hint)


def join_token(here: View) -> Result | None:
    """No token of an interrupted join is left in the cluster."""
    return expect("join token", "none", "one left by an interrupted join" if here[JOIN_TOKEN] else "none")


def control_planes(inventory: Inventory, host: Host) -> bool:
    return host.control_plane


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
        LISTENING,
        JOIN_TOKEN,
        ADDRESS,
    ),
    checks=(*control_plane_host.CHECKS, api, version, node, address, dns, join_token, *control_plane_settings.CHECKS),
    needs=("prereqs", "containerd", "kubernetes"),
    settle=120,
    pulls=True,
    applies=control_planes,
)
