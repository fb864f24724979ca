"""Which hosts an edge between different hosts joins (graph_pairs of the catalogue)."""

from gpustack.ask.view import View
from gpustack.doctor.check import Blocks


def plane_to_hosts(here: View) -> Blocks:
    """What is wrong on a control plane reaches every host."""
    planes = [host.name for host in here.hosts if host.control_plane]
    return [(planes, [host.name for host in here.hosts])]


def every_host(here: View) -> Blocks:
    """What is wrong between nodes shows on either end."""
    names = [host.name for host in here.hosts]
    return [(names, names)]
