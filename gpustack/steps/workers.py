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
from gpustack.config.endpoint import resolve_endpoint
from gpustack.config.resolution import resolve_kubernetes_version
from gpustack.probes.control_plane.kubeadm import ADMIN, BOOTSTRAP, CA_KEY, FILES, JOIN, KUBELET_CONF, SETTINGS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubelet.kubelet import HEALTH
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS
from gpustack.probes.network.flannel import FLANNELD
from gpustack.steps.control_plane.settings import FIXED_HINT
from gpustack.steps.flannel import find_flanneld_mismatch
from gpustack.steps.other_cluster import build_reset_command
from gpustack.steps.own_node import address, find_node
from gpustack.steps.step import Step


def node_joined(view: View) -> Result | None:
    """The host has joined: its kubelet has credentials for this cluster."""
    files, expected_server = view[FILES], f"https://{resolve_endpoint(view.snapshot.inventory)}"
    foreign_server = next((server for server in files.servers.values() if server != expected_server), "")
    if not files.lacks(ADMIN) or not files.lacks(CA_KEY):
        foreign_server = "a control plane on this host"
    if foreign_server:
        reset_command = build_reset_command(view, foreign=True, note="takes the host out of the cluster it is in")
        hint = FIXED_HINT if foreign_server == find_made_server(view) else reset_command
        return Result("cluster of this host", expected_server, foreign_server, cure="operator", hint=hint)
    if not files.lacks(KUBELET_CONF):
        return None
    return Result("worker", "joined", "nothing" if files.lacks(BOOTSTRAP) else "an interrupted join")


def find_made_server(view: View) -> str:
    """Find the API server that the hosts of this cluster have used since it was made; no name where the API does not
    answer. A host that has another one than the spec names, and this one, is no foreign host: the spec is wrong."""
    cluster = view[SETTINGS].cluster if view.has_fact(SETTINGS) else None
    return f"https://{(cluster or {}).get('controlPlaneEndpoint', '')}"


def kubelet(view: View) -> Result | None:
    """The kubelet is running and healthy."""
    unit = view[UNITS]["kubelet"]
    if not unit or not unit.active:
        return Result("kubelet", "active", "not active" if unit else "not installed")
    return expect("kubelet's health", "ok", view[HEALTH])


def node(view: View) -> Result | None:
    """The cluster has a node with this host's machine-id, and it is Ready."""
    worker_node = find_node(view)
    if worker_node:
        return expect("node", "Ready", "Ready" if worker_node.ready else worker_node.reason, passing=True)
    is_lost = not view[FILES].lacks(KUBELET_CONF) and view[HEALTH] == "ok"
    if not is_lost:
        return Result("node", "Ready", "no node with this host's machine-id")
    hint = Command("systemctl", "restart", "kubelet", note="on that host: registers it again")
    return Result("node", "Ready", "no node with this host's machine-id", cure="operator", hint=hint)


def version(view: View) -> Result | None:
    """The running kubelet has the requested version."""
    node, expected_version = find_node(view), resolve_kubernetes_version(view.spec)
    hint = Command("gpustack", "explain", "upgrade-needed")
    return expect("kubelet", expected_version, node.kubelet, cure="upgrade", hint=hint) if node else None


def pod_network(view: View) -> Result | None:
    """On this host flanneld is ready and has the pod network, and the CNI configuration exists."""
    return find_flanneld_mismatch(view)


def leftovers(view: View) -> Result | None:
    """The host has no file with a token left."""
    remaining_files = [path for path in (JOIN, BOOTSTRAP) if path in view[FILES].modes]
    return expect("join token files", "none", ", ".join(remaining_files) or "none")


STEP = Step(
    "workers",
    scope="host",
    probes=(FILES, UNITS, HEALTH, IDENTITY, NODES, FLANNELD, ADDRESS, SETTINGS),
    checks=(node_joined, kubelet, node, address, version, pod_network, leftovers),
    needs=("kubernetes", "control-plane"),
    predecessors=("flannel",),
    settle_seconds=180,
    pulls=True,
    includes_host=lambda host: not host.control_plane and not host.standalone,
    interrupts="a host joins; nothing else waits for it",
)
