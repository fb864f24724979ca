"""Which node a host is, and whether it has the address it should have: for the steps that make nodes."""

from gpustack.ask.judge import Mismatch, expect
from gpustack.ask.view import View
from gpustack.probes.kube import NODES, Node
from gpustack.probes.system import IDENTITY


def own(here: View) -> Node | None:
    """A host is a node when its machine-id is the node's."""
    nodes = here[NODES]
    by_id = here.snapshot.shared("nodes by machine-id", lambda: {node.machine_id: node for node in reversed(nodes)})
    return by_id.get(here[IDENTITY].machine_id)


def address(here: View) -> Mismatch | None:
    """The node has the address that gpustack_node_ip gives it."""
    found, wanted = own(here), here.host.spec.gpustack_node_ip
    if not found or not wanted:
        return None
    hint = "set --node-ip in /var/lib/kubelet/kubeadm-flags.env of that host, then: systemctl restart kubelet"
    return expect("node's address", str(wanted), found.address, cure="operator", hint=hint)
