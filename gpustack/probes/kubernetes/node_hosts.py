"""The host of each node, by the machine-id that both tell."""

from collections import Counter
from collections.abc import Mapping

from gpustack.ask.view import View
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES


def index_hosts_by_node(view: View) -> Mapping[str, str]:
    """Index the hosts by the node with their machine-id. A host or node that is unknown is left out, and so are hosts
    that were copied and have one machine-id."""
    if not view.has_fact(NODES):
        return {}
    machine_ids = {
        host.name: host_view[IDENTITY].machine_id
        for host in view.hosts
        if (host_view := View(view.snapshot, host.name)).has_fact(IDENTITY)
    }
    counts = Counter(machine_ids.values())
    hosts = {machine_id: host for host, machine_id in machine_ids.items() if counts[machine_id] == 1}
    return {node.name: hosts[node.machine_id] for node in view[NODES] if node.machine_id in hosts}
