"""The address of a host's node, from the inventory or from the SSH connection.

A host answers with whatever it likes. Its own word never becomes an address that other hosts let in, and never decides
which node it is. So the address that it reports has to be the one that SSH reached; any other one counts where the
inventory has it in `gpustack_node_ip`, as for hosts that are managed over a network of their own or behind NAT. The
local host is this machine, whose word counts.
"""

from collections.abc import Sequence

from gpustack.ask.judge import as_text
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.flows import is_address
from gpustack.probes.network.addresses import ADDRESS, ADDRESSES

KEY = "gpustack_node_ip"
LOOPBACK = "127."


def find_node_address(here: View) -> str:
    """Return the IPv4 address of the host's node. Raises FactUnavailable where the host reports an address that SSH did
    not reach, and the inventory sets none."""
    if here.host.spec.gpustack_node_ip:
        return str(here.host.spec.gpustack_node_ip)
    reported = here[ADDRESS]
    if here.host.connection == "local" or reported == read_reached_address(here):
        return reported
    raise FactUnavailable(f"{describe_conflict(here)}; {KEY} is not set")


def find_trusted_address(here: View) -> str:
    """Return the address that the inventory sets, or else the one that SSH reached, whatever the host reports: the node
    with this InternalIP is the host's. Raises FactUnavailable where neither is known."""
    if here.host.spec.gpustack_node_ip or here.host.connection == "local":
        return find_node_address(here)
    if address := read_reached_address(here):
        return address
    raise FactUnavailable(f"the IPv4 address at which SSH reaches {here.host.name} is not known; {KEY} is not set")


def read_reached_address(here: View) -> str:
    """Return where the SSH connection to the host ended; of a recording without it, the address in the inventory. Empty
    where neither is an IPv4 address."""
    reach = here.snapshot.reach.get(here.host.name)
    address = reach.address if reach and reach.address else here.host.address
    return address if is_address(address) else ""


def describe_conflict(here: View) -> str:
    return f"SSH reached {here.host.address}, and the host reports {here[ADDRESS]}"


def list_reported_addresses(here: View) -> list[str]:
    """Return the addresses of the host's interfaces by its own account, without those of the loopback interface."""
    return [address for local in here[ADDRESSES].values() for address in local if not address.startswith(LOOPBACK)]


def find_unconfirmed_hosts(snapshot: Snapshot) -> Sequence[tuple[str, str]]:
    """Return each host of the cluster whose node address is for the operator to say, with the reason."""
    views = (View(snapshot, host.name) for host in snapshot.inventory.in_cluster)
    return [(here.where, describe_choice(here)) for here in views if here.reached and is_unconfirmed(here)]


def is_unconfirmed(here: View) -> bool:
    """A host that reports no address at all is judged for that by its own steps."""
    if not here.available(ADDRESS):
        return False
    try:
        find_node_address(here)
    except FactUnavailable:
        return True
    return False


def describe_choice(here: View) -> str:
    """Return what was reached, and the addresses among which the operator may choose."""
    listed = as_text(list_reported_addresses(here)) if here.available(ADDRESSES) else "unknown"
    return f"{describe_conflict(here)}; its addresses: {listed}"
