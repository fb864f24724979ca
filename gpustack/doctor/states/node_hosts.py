"""The host of a node, for states of objects that name their node."""

from collections.abc import Mapping

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES


def locate_node(view: View, node: str) -> str:
    """Return the host with the machine-id of a node, else the host of that name, else the cluster."""
    if not node:
        return CLUSTER
    hosts_by_node = View(view.snapshot, CLUSTER).compute_once(index_hosts_by_node)
    return hosts_by_node.get(node) or (node if node in view.snapshot.inventory.by_name else CLUSTER)


def index_hosts_by_node(view: View) -> Mapping[str, str]:
    """Index the hosts by the node with their machine-id. A host or node that is unknown is left out."""
    if not view.has_fact(NODES):
        return {}
    hosts_by_machine = {
        host_view[IDENTITY].machine_id: host.name
        for host in view.hosts
        if (host_view := View(view.snapshot, host.name)).has_fact(IDENTITY)
    }
    return {node.name: hosts_by_machine[node.machine_id] for node in view[NODES] if node.machine_id in hosts_by_machine}
