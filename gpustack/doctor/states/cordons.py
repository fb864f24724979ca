"""Nodes that gpustack cordoned for a drain or reboot, and that nobody returned to service."""

from collections.abc import Iterator
from datetime import timedelta

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.kubernetes.node_records import NODE_RECORDS, NodeRecord, parse_cordon

CORDON_LIMIT = timedelta(hours=1)
"""A rolling reboot waits half an hour for GPU jobs, and twenty minutes for a boot."""


def observe_cordons(view: View) -> Iterator[AbnormalState]:
    """List the nodes that gpustack cordoned more than an hour ago. The cordon of a person is meant to stay, and one
    without a readable time is as old as nobody knows."""
    for node in view[NODE_RECORDS]:
        cordon = parse_cordon(node.cordon_record) if node.owns_cordon else None
        if cordon and cordon.cordoned_at and view.started_at - cordon.cordoned_at > CORDON_LIMIT:
            yield AbnormalState(
                "node-left-cordoned",
                "risk",
                (locate_node(view, node.name),),
                (f"node {node.name}",),
                f"cordoned by gpustack for {cordon.author}, and not uncordoned since{describe_loss(node)}",
                choose_command(node),
                onset=cordon.cordoned_at,
            )


def describe_loss(node: NodeRecord) -> str:
    devices = ", ".join(f"{count} {resource}" for resource, count in sorted(node.devices.items()) if count)
    return f": {devices} accept no new pods" if devices else ""


def choose_command(node: NodeRecord) -> Command:
    """Choose the command that ends the cordon: a reboot that was begun is verified first."""
    return Command("gpustack", "node", "reboot" if node.reboot_record else "uncordon", node.name)


OBSERVERS = (Observer("cordons", "Nodes that gpustack cordoned", observe_cordons, (NODE_RECORDS,)),)
