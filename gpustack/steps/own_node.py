"""Which node a host is, and whether it has the expected address: for the steps that create nodes."""

from gpustack.ask.judge import Result, as_text, expect
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import Prose
from gpustack.probes.host.system import HOSTNAME, IDENTITY
from gpustack.probes.kubernetes.nodes import NODES, Node
from gpustack.probes.network.addresses import ADDRESSES


def own(here: View) -> Node | None:
    """A host is a node when its machine-id is the node's."""
    return here.once(nodes_by_machine_id).get(here[IDENTITY].machine_id)


def nodes_by_machine_id(here: View) -> dict[str, Node]:
    nodes = here[NODES]
    return {node.machine_id: node for node in reversed(nodes)}


def removable(here: View) -> Node | None:
    """The node of the host, to be drained and deleted. A host may report the machine-id of another: the name or address
    of the node has to be the host's as well, and no other host of the inventory may have one of the three. Raises
    FactUnavailable otherwise."""
    node = own(here)
    if not node:
        return None
    local = {str(address) for found in here[ADDRESSES].values() for address in found}
    if node.name != here[HOSTNAME] and node.address not in local:
        why = f"the node {node.name} ({node.address}) has its machine-id, but neither its name nor one of its addresses"
        raise FactUnavailable(why)
    claims = here.once(hosts_by_claim)
    owners = {name for text in (node.name, node.address, node.machine_id) for name in claims.get(text, ())}
    if others := owners - {here.where}:
        raise FactUnavailable(f"the node {node.name} with its machine-id also matches {as_text(sorted(others))}")
    return node


def hosts_by_claim(here: View) -> dict[str, set[str]]:
    """Hosts by machine-id, host name and address, as reported by the hosts and as set in the inventory."""
    found: dict[str, set[str]] = {}
    for host in here.hosts:
        there = View(here.snapshot, host.name)
        claims = [host.name.lower(), host.address, str(host.spec.gpustack_node_ip or "")]
        claims += [there[HOSTNAME]] if there.available(HOSTNAME) else []
        claims += [there[IDENTITY].machine_id] if there.available(IDENTITY) else []
        for claim in filter(None, claims):
            found.setdefault(claim, set()).add(host.name)
    return found


def address(here: View) -> Result | None:
    """The node has the address set in gpustack_node_ip."""
    found, wanted = own(here), here.host.spec.gpustack_node_ip
    if not found or not wanted:
        return None
    hint = Prose("set --node-ip in /var/lib/kubelet/kubeadm-flags.env of that host, then: systemctl restart kubelet")
    return expect("node's address", str(wanted), found.address, cure="operator", hint=hint)
