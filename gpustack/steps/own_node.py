"""Which node a host is, and whether it has the expected address: for the steps that create nodes."""

from gpustack.ask.judge import Result, as_text, expect
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import Prose
from gpustack.probes.host.system import HOSTNAME, IDENTITY
from gpustack.probes.kubernetes.nodes import NODES, Node
from gpustack.steps.node_address import find_trusted_address, is_unconfirmed


def own(here: View) -> Node | None:
    """A host is a node when its machine-id is the node's."""
    return here.once(nodes_by_machine_id).get(here[IDENTITY].machine_id)


def nodes_by_machine_id(here: View) -> dict[str, Node]:
    nodes = here[NODES]
    return {node.machine_id: node for node in reversed(nodes)}


def confirm_own(here: View) -> Node | None:
    """Return the node of the host, for what is done to the node. A host may report any machine-id: the InternalIP of
    the node has to be the address that SSH reached or that the inventory has. Raises FactUnavailable otherwise."""
    node = own(here)
    if not node:
        return None
    address = find_trusted_address(here.on(here.host.name))
    if node.address != address:
        why = f"the node {node.name} has its machine-id, but the address {node.address or 'none'} and not {address}"
        raise FactUnavailable(why)
    return node


def removable(here: View) -> Node | None:
    """Return the node of the host, to be drained and deleted; no other host of the inventory may have its name, address
    or machine-id. Raises FactUnavailable otherwise."""
    node = confirm_own(here)
    if not node:
        return None
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
    """The node has the address set in gpustack_node_ip, or else that of the SSH connection."""
    node, here = own(here), here.on(here.host.name)
    if not node or is_unconfirmed(here):
        return None
    hint = Prose("set --node-ip in /var/lib/kubelet/kubeadm-flags.env of that host, then: systemctl restart kubelet")
    return expect("node's address", find_trusted_address(here), node.address, cure="operator", hint=hint)
