"""The host of a node, for states of objects that name their node."""

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.probes.kubernetes.node_hosts import index_hosts_by_node

NODE_NOT_READY = "st-node-notready"
"""The entry of the catalogue about a node that is not Ready."""


def locate_node(view: View, node: str) -> str:
    """Return the host with the machine-id of a node, else the host of that name, else the cluster."""
    if not node:
        return CLUSTER
    hosts_by_node = View(view.snapshot, CLUSTER).compute_once(index_hosts_by_node)
    return hosts_by_node.get(node) or (node if node in view.snapshot.inventory.by_name else CLUSTER)
