"""The membership of a host in a cluster other than that of the inventory, and the command to run then."""

from typing import LiteralString

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.endpoint import resolve_endpoint
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.network.addresses import ADDRESSES


def find_foreign_servers(view: View) -> tuple[str, ...]:
    """Find API servers (host:port) in the files of the kubelet and of the administrator that are not in this inventory.
    A control plane may use any of its own addresses."""
    planes = view.snapshot.inventory.control_planes
    names = {resolve_endpoint(view.snapshot.inventory).rsplit(":", 1)[0], *(host.address for host in planes)}
    names |= {str(host.spec.gpustack_node_ip) for host in planes}
    names |= {address for local in view[ADDRESSES].values() for address in local} if view.host.control_plane else set()
    return tuple(server for server in view[LEFTOVERS].servers if server.rsplit(":", 1)[0] not in names)


def build_reset_command(view: View, *, foreign: bool = False, note: LiteralString) -> Command:
    """Build the command that removes a host from its cluster."""
    return Command("gpustack", "reset", "--limit", view.host.name, *(["--foreign"] if foreign else []), note=note)
