"""The node of a host, and the check of its address, for the steps that create nodes."""

from gpustack.ask.judge import Result, expect, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import Prose
from gpustack.probes.host.system import HOSTNAME, IDENTITY
from gpustack.probes.kubernetes.nodes import NODES, Node
from gpustack.steps.node_address import find_trusted_address, is_unconfirmed


def find_node(view: View) -> Node | None:
    """Find the node of a host: the one with its machine-id."""
    return view.compute_once(index_nodes).get(view[IDENTITY].machine_id)


def index_nodes(view: View) -> dict[str, Node]:
    nodes = view[NODES]
    return {node.machine_id: node for node in reversed(nodes)}


def confirm_node(view: View) -> Node | None:
    """Find the node of the host, for what is done to the node. A host may report any machine-id: the InternalIP of the
    node has to be the address that SSH reached or that the inventory has. Raise FactUnavailable otherwise."""
    node = find_node(view)
    if not node:
        return None
    address = find_trusted_address(view.select_host(view.host.name))
    if node.address != address:
        reason = f"the node {node.name} has its machine-id, but the address {node.address or 'none'} and not {address}"
        raise FactUnavailable(reason)
    return node


def find_removable_node(view: View) -> Node | None:
    """Find the node of the host, to be drained and deleted; no other host of the inventory may have its name, address
    or machine-id. Raise FactUnavailable otherwise."""
    node = confirm_node(view)
    if not node:
        return None
    claims = view.compute_once(index_hosts)
    owners = {name for text in (node.name, node.address, node.machine_id) for name in claims.get(text, ())}
    if other_owners := owners - {view.location}:
        raise FactUnavailable(
            f"the node {node.name} with its machine-id also matches {format_value(sorted(other_owners))}"
        )
    return node


def index_hosts(view: View) -> dict[str, set[str]]:
    """Index hosts by machine-id, host name and address, as reported by the hosts and as set in the inventory."""
    hosts_of_claim: dict[str, set[str]] = {}
    for host in view.hosts:
        host_view = View(view.snapshot, host.name)
        claims = [*host.identifiers]
        claims += [host_view[HOSTNAME]] if host_view.has_fact(HOSTNAME) else []
        claims += [host_view[IDENTITY].machine_id] if host_view.has_fact(IDENTITY) else []
        for claim in filter(None, claims):
            hosts_of_claim.setdefault(claim, set()).add(host.name)
    return hosts_of_claim


def address(view: View) -> Result | None:
    """The node has the address set in gpustack_node_ip, or else that of the SSH connection."""
    node, view = find_node(view), view.select_host(view.host.name)
    if not node or is_unconfirmed(view):
        return None
    hint = Prose("set --node-ip in /var/lib/kubelet/kubeadm-flags.env of that host, then: systemctl restart kubelet")
    return expect("node's address", find_trusted_address(view), node.address, cure="operator", hint=hint)
