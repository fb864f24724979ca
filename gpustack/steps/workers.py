"""Workers: all other hosts join the cluster.

One bootstrap token is created on the control plane during the play, is valid for at most 15 minutes and is deleted when
the play ends, whatever the outcome; if a play was killed, the next install deletes its token (step control-plane). It
is copied to the hosts in a file of mode 0600 in memory (/run), never on a command line, and is removed there too. The
hosts verify the cluster's CA by its hash. An interrupted join is repeated.

A host that belongs to another cluster, or whose node was deleted from this one, is reported and left to you.

Settings: kubernetes.endpoint, kubernetes.ignore_preflight, gpustack_node_ip. Sources: kubeadm.k8s.io/v1beta4, kubeadm
join phases in the Kubernetes reference.
"""

from gpustack.ask.judge import Result, expect
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.endpoint import endpoint_of
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.resolved import kubernetes_version_of
from gpustack.probes.control_plane.kubeadm import ADMIN, BOOTSTRAP, CA_KEY, FILES, JOIN, KUBELET_CONF
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubelet.kubelet import HEALTH
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS
from gpustack.probes.network.flannel import FLANNELD
from gpustack.steps.flannel import on_host
from gpustack.steps.other_cluster import reset_of
from gpustack.steps.own_node import address, own
from gpustack.steps.step import Step


def joined(here: View) -> Result | None:
    """The host has joined: its kubelet has credentials for this cluster."""
    files, wanted = here[FILES], f"https://{endpoint_of(here.snapshot.inventory)}"
    foreign = next((server for server in files.servers.values() if server != wanted), "")
    if not files.lacks(ADMIN) or not files.lacks(CA_KEY):
        foreign = "a control plane on this host"
    if foreign:
        hint = reset_of(here, foreign=True, note="takes the host out of the cluster it is in")
        return Result("cluster of this host", wanted, foreign, cure="operator", hint=hint)
    if not files.lacks(KUBELET_CONF):
        return None
    return Result("worker", "joined", "nothing" if files.lacks(BOOTSTRAP) else "an interrupted join")


def kubelet(here: View) -> Result | None:
    """The kubelet is running and healthy."""
    unit = here[UNITS]["kubelet"]
    if not unit or not unit.active:
        return Result("kubelet", "active", "not active" if unit else "not installed")
    return expect("kubelet's health", "ok", here[HEALTH])


def node(here: View) -> Result | None:
    """The cluster has a node with this host's machine-id, and it is Ready."""
    found = own(here)
    if found:
        return expect("node", "Ready", "Ready" if found.ready else found.reason, passing=True)
    lost = not here[FILES].lacks(KUBELET_CONF) and here[HEALTH] == "ok"
    if not lost:
        return Result("node", "Ready", "no node with this host's machine-id")
    hint = Command("systemctl", "restart", "kubelet", note="on that host: registers it again")
    return Result("node", "Ready", "no node with this host's machine-id", cure="operator", hint=hint)


def version(here: View) -> Result | None:
    """The running kubelet has the requested version."""
    found, wanted = own(here), kubernetes_version_of(here.spec)
    hint = Command("gpustack", "explain", "upgrade-needed")
    return expect("kubelet", wanted, found.kubelet, cure="upgrade", hint=hint) if found else None


def pod_network(here: View) -> Result | None:
    """On this host flanneld is ready and has the pod network, and the CNI configuration exists."""
    return on_host(here)


def leftovers(here: View) -> Result | None:
    """No file with a token is left."""
    left = [path for path in (JOIN, BOOTSTRAP) if path in here[FILES].modes]
    return expect("join token files", "none", ", ".join(left) or "none")


def joining(inventory: Inventory, host: Host) -> bool:
    return not host.control_plane and not host.standalone


STEP = Step(
    "workers",
    scope="host",
    probes=(FILES, UNITS, HEALTH, IDENTITY, NODES, FLANNELD, ADDRESS),
    checks=(joined, kubelet, node, address, version, pod_network, leftovers),
    needs=("kubernetes", "control-plane"),
    follows=("flannel",),
    settle=180,
    pulls=True,
    applies=joining,
    interrupts="a host joins; nothing else waits for it",
)
