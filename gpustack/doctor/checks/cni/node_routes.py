"""Routes of a host to the pods of the other nodes, which its Flannel adds and other programs may take away."""

from gpustack.ask.judge import format_value
from gpustack.ask.view import View
from gpustack.probes.host.recent_changes import PACKAGES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.flannel import NODE_ROUTES
from gpustack.steps.own_node import find_node
from gpustack.times import format_duration

NETWORKD = ("systemd", "netplan", "network-manager")
"""Packages whose upgrade restarts a program that manages routes: systemd-networkd takes away those that are not its own
(k0sproject/k0s#5623)."""


def describe_missing_routes(view: View) -> str:
    """Describe the ranges of other nodes to which this host has no route, and a recent upgrade that may have taken them
    away. Return an empty text where all are there, and where that is unknown."""
    if not all(view.has_fact(probe) for probe in (NODES, IDENTITY, NODE_ROUTES)) or (node := find_node(view)) is None:
        return ""
    ranges = {peer.pod_cidr for peer in view[NODES] if peer.pod_cidr and peer.name != node.name}
    routes = view[NODE_ROUTES]
    missing_ranges = ranges - routes
    if not missing_ranges:
        return ""
    return f"{view.location} has no route to {format_value(missing_ranges)}{describe_upgrade(view)}"


def describe_upgrade(view: View) -> str:
    """Describe the newest change of a package that manages routes, or return an empty text."""
    if not view.has_fact(PACKAGES):
        return ""
    actions = view[PACKAGES]
    for action in reversed(actions):
        if names := [name for name in action.packages if name.startswith(NETWORKD)]:
            return f"; apt: {action.action} {min(names, key=len)} {format_duration(action.seconds_ago)} ago"
    return ""
