"""The end of a cordon: gpustack uncordons what it cordoned, and leaves the cordon of a person alone."""

from collections.abc import Callable
from dataclasses import dataclass

from gpustack.ask.snapshot import Snapshot
from gpustack.errors import RolloutError
from gpustack.nodes.cordon import build_uncordon_command, classify_cordon
from gpustack.nodes.node_change import NodeWriter
from gpustack.probes.kubernetes.node_records import NodeRecord
from gpustack.rollout.next_command import build_command


@dataclass(frozen=True)
class UncordonResult:
    """Hold the result. `changed` tells whether the node was cordoned before."""

    node: NodeRecord
    changed: bool


def refuse_foreign_cordon(snapshot: Snapshot, node: NodeRecord) -> None:
    """Raise RolloutError for a node that somebody else cordoned."""
    if classify_cordon(node) != "others":
        return
    manager = node.cordon_manager or "nobody whom the API names"
    reason = f"spec.unschedulable was last set by {manager}, and gpustack has no record of a cordon of its own."
    hint = build_command(snapshot.inventory, "node", "uncordon", node.name).extend(
        "--foreign", note="only where whoever cordoned it agrees"
    )
    message = f"The node {node.name} was cordoned by somebody else; it stays cordoned."
    raise RolloutError("node-cordon-foreign", message, reason, hint)


def uncordon_node(writer: NodeWriter, name: str, read: Callable[[], NodeRecord]) -> UncordonResult:
    """Uncordon a node. Raise RolloutError where the API refuses, and the errors of `read`."""
    return UncordonResult(writer.change_node(name, read, build_uncordon_command), changed=True)
