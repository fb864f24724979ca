"""The host of a node and whether its kubelet tells of its pods, for states of objects that name their node."""

from collections.abc import Iterable

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.probes.kubernetes.node_hosts import index_hosts_by_node
from gpustack.probes.kubernetes.nodes import NODES, list_unready_nodes
from gpustack.probes.kubernetes.pod_states import PodState

NODE_NOT_READY = "st-node-notready"
"""The entry of the catalogue about a node that is not Ready."""


def locate_node(view: View, node: str) -> str:
    """Return the host with the machine-id of a node, else the host of that name, else the cluster."""
    if not node:
        return CLUSTER
    hosts_by_node = View(view.snapshot, CLUSTER).compute_once(index_hosts_by_node)
    return hosts_by_node.get(node) or (node if node in view.snapshot.inventory.by_name else CLUSTER)


def list_silent_nodes(view: View, pods: Iterable[PodState]) -> tuple[str, ...]:
    """List the nodes of pods, as subjects, where none of them is Ready: what the API has of such pods is old, or was
    written because of the node. Return none where one is."""
    names = sorted({pod.node for pod in pods})
    return tuple(f"node {name}" for name in names) if {*names} <= list_unready_nodes(view[NODES]) else ()
