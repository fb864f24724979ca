"""The address of a host's node, from the inventory or from the SSH connection.

A host answers with whatever it likes. Its own word never becomes an address that other hosts let in, and never decides
which node it is. So the address that it reports has to be the one that SSH reached; any other one counts where the
inventory has it in `gpustack_node_ip`, as for hosts that are managed over a network of their own or behind NAT. The
local host is this machine, whose word counts.
"""

from collections.abc import Sequence

from gpustack.ask.judge import format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.addresses import is_ipv4_address
from gpustack.probes.network.addresses import ADDRESS, ADDRESSES

KEY = "gpustack_node_ip"
LOOPBACK = "127."


def find_node_address(view: View) -> str:
    """Find the IPv4 address of the host's node. Raise FactUnavailable where the host reports an address that SSH did
    not reach, and the inventory sets none."""
    if view.host.spec.gpustack_node_ip:
        return str(view.host.spec.gpustack_node_ip)
    reported_address = view[ADDRESS]
    if view.host.connection == "local" or reported_address == read_reached_address(view):
        return reported_address
    raise FactUnavailable(f"{describe_conflict(view)}; {KEY} is not set")


def find_trusted_address(view: View) -> str:
    """Find the address that the inventory sets, or else the one that SSH reached, whatever the host reports: the node
    with this InternalIP is the host's. Raise FactUnavailable where neither is known."""
    if view.host.spec.gpustack_node_ip or view.host.connection == "local":
        return find_node_address(view)
    if address := read_reached_address(view):
        return address
    raise FactUnavailable(f"the IPv4 address at which SSH reaches {view.host.name} is not known; {KEY} is not set")


def read_reached_address(view: View) -> str:
    """Read where the SSH connection to the host ended. Return an empty text where that is no IPv4 address."""
    address = view.snapshot.find_reached_address(view.host.name)
    return address if is_ipv4_address(address) else ""


def describe_conflict(view: View) -> str:
    return f"SSH reached {view.snapshot.find_reached_address(view.host.name)}, and the host reports {view[ADDRESS]}"


def list_reported_addresses(view: View) -> list[str]:
    """List the addresses of the host's interfaces by its own account, without those of the loopback interface."""
    return [
        address for addresses in view[ADDRESSES].values() for address in addresses if not address.startswith(LOOPBACK)
    ]


def find_unconfirmed_hosts(snapshot: Snapshot) -> Sequence[tuple[str, str]]:
    """Find each host of the cluster whose node address only the operator can set, with the reason."""
    views = (View(snapshot, host.name) for host in snapshot.inventory.cluster_hosts)
    return [(view.location, describe_choice(view)) for view in views if view.reached and is_unconfirmed(view)]


def is_unconfirmed(view: View) -> bool:
    """Tell whether a host reports an address that is not confirmed. A host that reports no address at all is judged by
    its own steps."""
    if not view.has_fact(ADDRESS):
        return False
    try:
        find_node_address(view)
    except FactUnavailable:
        return True
    return False


def describe_choice(view: View) -> str:
    """Describe the address that was reached, and the addresses among which the operator may choose."""
    addresses = format_value(list_reported_addresses(view)) if view.has_fact(ADDRESSES) else "unknown"
    return f"{describe_conflict(view)}; its addresses: {addresses}"
