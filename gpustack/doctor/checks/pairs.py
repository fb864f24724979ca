"""Pairs of hosts that an edge between different hosts joins (graph_pairs of the catalogue)."""

from gpustack.ask.view import View
from gpustack.doctor.check import Blocks


def pair_planes_with_hosts(view: View) -> Blocks:
    """Pair the control planes with all hosts, for faults of a control plane that reach the whole cluster."""
    planes = [host.name for host in view.hosts if host.control_plane]
    return [(planes, [host.name for host in view.hosts])]


def pair_all_hosts(view: View) -> Blocks:
    """Pair all hosts with all hosts, for faults between nodes that show on either end."""
    names = [host.name for host in view.hosts]
    return [(names, names)]
