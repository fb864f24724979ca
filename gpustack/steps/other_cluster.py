"""The membership of a host in a cluster other than that of the inventory, and the command to run then."""

from typing import LiteralString

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.endpoint import extract_name, resolve_endpoint
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.network.addresses import ADDRESSES


def find_foreign_servers(view: View) -> tuple[str, ...]:
    """Find API servers (host:port) in the files of the kubelet and of the administrator that are not in this inventory.
    A control plane may use any of its own addresses."""
    planes = view.snapshot.inventory.control_planes
    names = {
        extract_name(resolve_endpoint(view.snapshot.inventory)),
        *(name for host in planes for name in host.identifiers),
    }
    names |= (
        {address for addresses in view[ADDRESSES].values() for address in addresses}
        if view.host.control_plane
        else set()
    )
    return tuple(server for server in view[LEFTOVERS].servers if extract_name(server) not in names)


def is_member(view: View) -> bool:
    """Tell whether the host is in a cluster: its kubelet or its administrator has credentials for an API server. What
    is fixed with the creation of a cluster, and with the join of a host, is fixed then."""
    return bool(view[LEFTOVERS].servers)


def build_reset_command(view: View, *, foreign: bool = False, note: LiteralString) -> Command:
    """Build the command that removes a host from its cluster."""
    return Command("gpustack", "reset", "--limit", view.host.name, *(["--foreign"] if foreign else []), note=note)
