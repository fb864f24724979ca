"""The removal of a node: drain it and reset its host, or delete the node of a host that is dead."""

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass

from gpustack.ask.api import ADMIN
from gpustack.command import NO_HINT, Hint
from gpustack.errors import RolloutError
from gpustack.exit_status import ExitStatus
from gpustack.files.json_text import dump_json
from gpustack.nodes.drain import Drain, DrainResult
from gpustack.nodes.node_change import NodeWriter
from gpustack.nodes.removal_plan import RemovalPlan
from gpustack.probes.kubernetes.node_records import NodeRecord
from gpustack.rollout.next_command import build_command
from gpustack.rollout.removal import Removal
from gpustack.rollout.reset import ResetOutcome


@dataclass(frozen=True)
class NodeRemovalResult:
    """Hold the result of a removal. `drain` and `reset` are the results of these parts, None where one was not begun.
    `only_checked` tells that nothing was changed because nobody asked for it."""

    plan: RemovalPlan
    drain: DrainResult | None = None
    reset: ResetOutcome | None = None
    deleted: bool = False
    seconds: float = 0.0
    only_checked: bool = False

    @property
    def removed(self) -> bool:
        """Tell whether the cluster has the node no more."""
        return self.deleted or (self.reset is not None and not any(host.node for host in self.reset.after.hosts))

    @property
    def stop_reason(self) -> str:
        return (self.reset.stop_reason if self.reset else "") or (self.drain.stop_reason if self.drain else "")

    @property
    def exit_status(self) -> ExitStatus:
        if self.only_checked:
            return ExitStatus.DIFFERS if self.plan.refusals else ExitStatus.OK
        if self.reset:
            return self.reset.exit_status
        return self.drain.exit_status if self.drain else ExitStatus.OK

    @property
    def next_command(self) -> Hint:
        """Return the command that continues a removal."""
        if self.reset:
            return self.reset.next_command
        if self.drain:
            return build_command(self.plan.drain.snapshot.inventory, "node", "remove", self.plan.drain.node.name)
        return NO_HINT


def check_removal(plan: RemovalPlan) -> NodeRemovalResult:
    """Return the result of a removal that was only to be shown."""
    return NodeRemovalResult(plan, only_checked=True)


def refuse_node_removal(plan: RemovalPlan) -> None:
    """Raise the first error that stands against a removal."""
    for error in plan.refusals:
        raise error


def remove_live_node(plan: RemovalPlan, drain: Drain, reset: Callable[[Removal], ResetOutcome]) -> NodeRemovalResult:
    """Drain the node, then reset its host, which deletes the node. Nothing is reset while a pod is left."""
    assert plan.reset is not None
    started_at = time.monotonic()
    drain_result = drain.run(plan.drain, plan.ended_pods)
    if drain_result.exit_status != ExitStatus.OK:
        return NodeRemovalResult(plan, drain_result, seconds=time.monotonic() - started_at)
    outcome = reset(plan.reset)
    return NodeRemovalResult(plan, drain_result, outcome, seconds=time.monotonic() - started_at)


def remove_dead_node(plan: RemovalPlan, writer: NodeWriter, read: Callable[[], RemovalPlan]) -> NodeRemovalResult:
    """Delete the node of a dead host. `read` plans anew. Raise RolloutError where the host gave a sign of life since it
    was shown, or the API refuses."""
    started_at = time.monotonic()

    def read_dead() -> NodeRecord:
        current = read()
        refuse_node_removal(current)
        if plan.silence and current.silence and plan.silence.renewed_at != current.silence.renewed_at:
            message = f"The host of {current.drain.node.name} gave a sign of life; nothing was changed."
            raise RolloutError("node-not-dead", message, "its kubelet was heard of since this was shown")
        return current.drain.node

    writer.change_node(plan.drain.node.name, read_dead, build_deletion_command)
    return NodeRemovalResult(plan, deleted=True, seconds=time.monotonic() - started_at)


def build_deletion_command(record: NodeRecord) -> str:
    """Build the command that deletes a node of this version: one that reports again has another."""
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"resourceVersion": record.version}}
    path = shlex.quote(f"/api/v1/nodes/{record.name}")
    return (
        f"printf %s {shlex.quote(dump_json(options))} | kubectl {ADMIN} --request-timeout=20s delete --raw {path} -f -"
    )
