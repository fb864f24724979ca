"""The node that a person names, and the host of the inventory that it runs on."""

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.complaint import describe_choice
from gpustack.errors import InputError, UnreachableError, UsageError
from gpustack.probes.host.system import HOSTNAME, IDENTITY
from gpustack.probes.kubernetes.names import SUBDOMAIN
from gpustack.probes.kubernetes.node_records import NODE_RECORDS, NodeRecord
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS, ADDRESSES
from gpustack.steps.own_node import confirm_node

HOST_PROBES = (NODES, IDENTITY, HOSTNAME, ADDRESS, ADDRESSES)


def require_node_name(name: str) -> None:
    """Raise InputError for a text that no node can have as its name. It goes into the path of a query."""
    if not SUBDOMAIN.fullmatch(name):
        raise InputError("node-unknown", f"{name!r} is no name of a node.", "Nodes have names of DNS in small letters.")


def read_node_records(snapshot: Snapshot) -> tuple[NodeRecord, ...]:
    """Return the records of all nodes. Raise UnreachableError where the API gave no answer."""
    try:
        return View(snapshot, CLUSTER)[NODE_RECORDS]
    except FactUnavailable as error:
        message = "The Kubernetes API gave no answer; nothing was changed."
        raise UnreachableError("node-no-api", message, str(error), Command("gpustack", "verify")) from error


def require_node(snapshot: Snapshot, name: str) -> NodeRecord:
    """Return the record of a node. Raise the errors of read_node_records, and UsageError for an unknown node."""
    records = {record.name: record for record in read_node_records(snapshot)}
    if name not in records:
        reason = f"{describe_named_host(snapshot, name)}{describe_choice([name], sorted(records), 'Nodes')}"
        raise UsageError("node-unknown", f"The cluster has no node {name}.", reason)
    return records[name]


def describe_named_host(snapshot: Snapshot, name: str) -> str:
    """Describe the node of a host whose name was given for that of a node, as the beginning of a reason; empty where
    the inventory has no such host."""
    if name not in snapshot.inventory.by_name:
        return ""
    try:
        node = confirm_node(View(snapshot, name))
    except FactUnavailable:
        node = None
    return f"{name} is a host of the inventory{f', and its node is {node.name}' if node else ''}. "


def find_host_of_node(snapshot: Snapshot, name: str) -> tuple[str, str]:
    """Find the host of the inventory that a node runs on. Return its name and an empty text, or an empty name and the
    reason why it is unknown."""
    reasons = []
    for host in snapshot.inventory.cluster_hosts:
        try:
            node = confirm_node(View(snapshot, host.name))
        except FactUnavailable as error:
            reasons.append(f"{host.name}: {error}")
            continue
        if node and node.name == name:
            return host.name, ""
    return "", "; ".join(reasons) or "no host of the inventory has its machine-id"
