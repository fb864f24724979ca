"""Whether a host belongs to a cluster other than that of the inventory, and which command to run then."""

from typing import LiteralString

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.endpoint import endpoint_of
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.network.addresses import ADDRESSES


def servers_of_others(here: View) -> tuple[str, ...]:
    """API servers (host:port) in the files of the kubelet and of the administrator that are not in this inventory. A
    control plane may use any of its own addresses."""
    planes = here.snapshot.inventory.control_planes
    names = {endpoint_of(here.snapshot.inventory).rsplit(":", 1)[0], *(host.address for host in planes)}
    names |= {str(host.spec.gpustack_node_ip) for host in planes}
    names |= {address for local in here[ADDRESSES].values() for address in local} if here.host.control_plane else set()
    return tuple(server for server in here[LEFTOVERS].servers if server.rsplit(":", 1)[0] not in names)


def reset_of(here: View, *, foreign: bool = False, note: LiteralString) -> Command:
    """Return the command that removes a host from its cluster."""
    return Command("gpustack", "reset", "--limit", here.host.name, *(["--foreign"] if foreign else []), note=note)
