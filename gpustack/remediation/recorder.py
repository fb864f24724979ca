"""The record of an act on its node: written before it begins, so that nobody else acts then, and at its end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gpustack.errors import RolloutError
from gpustack.events import Event, Reporter
from gpustack.nodes.cordon import build_patch_command, format_cordon_record
from gpustack.nodes.node_change import NodeWriter
from gpustack.probes.kubernetes.node_records import CORDON_RECORD, REMEDIATION_RECORD, NodeRecord
from gpustack.remediation.act_record import Act, End, format_acts, parse_acts
from gpustack.remediation.case import Case
from gpustack.remediation.rungs import ActId


@dataclass(frozen=True)
class ActRecorder:
    """Record an act on the node of a case before it begins, and its end. `read` reads the node."""

    case: Case
    read: Callable[[], NodeRecord]
    writer: NodeWriter
    report: Reporter

    def begin(self, rung: ActId) -> Act:
        """Record that a rung begins, with the cordon where it is the rung. What a killed gpustack began goes on under
        its own record. Raise RolloutError where somebody changed the cordon or the record meanwhile."""
        case, is_cordon = self.case, rung == "cordon"
        killed_acts = {"reboot": case.killed_reboot, "reset": case.killed_reset}
        if act := killed_acts.get(rung):
            return act
        moment = datetime.now(UTC).replace(microsecond=0)
        act = Act(rung, moment, self.writer.author, case.verdict, case.due_gpus)
        cordon = format_cordon_record(self.writer.author, moment)
        spec = {"unschedulable": True} if is_cordon else {}

        def read() -> NodeRecord:
            node = self.read()
            ensure_same_record(case, node)
            return node

        def build(node: NodeRecord) -> str:
            acts = [*(parse_acts(node.remediation_record) or ()), replace(act, end="done" if is_cordon else "begun")]
            records: dict[str, str | None] = {
                REMEDIATION_RECORD: format_acts(acts),
                **({CORDON_RECORD: cordon} if is_cordon else {}),
            }
            return build_patch_command(node, records, spec)

        self.writer.change_node(case.node.name, read, build)
        gpus = f", {', '.join(act.gpus)}" if act.gpus else ""
        self.report(
            Event("changed", case.node.name, f"remediation: {rung}, verdict {case.verdict}{gpus}, by {act.author}")
        )
        return act

    def end(self, act: Act, end: End) -> None:
        """Record how an act ended. Raise RolloutError where somebody made the record unreadable meanwhile: acts that
        it may have had are not written over."""
        self.replace_act(act, [replace(act, end=end)], end)

    def remove_act(self, act: Act) -> None:
        """Take an act that changed nothing out of the record, so that no limit counts it. Raise RolloutError as `end`
        does."""
        self.replace_act(act, [], "skipped")

    def replace_act(self, act: Act, successors: Sequence[Act], end: str) -> None:
        name = self.case.node.name

        def build(node: NodeRecord) -> str:
            if (acts := parse_acts(node.remediation_record)) is None:
                reason = f"The annotation {REMEDIATION_RECORD} cannot be read."
                raise RolloutError("node-change-refused", f"The rung {act.rung} of {name} ended: {end}.", reason)
            other_acts = [entry for entry in acts if (entry.rung, entry.begun_at) != (act.rung, act.begun_at)]
            return build_patch_command(node, {REMEDIATION_RECORD: format_acts([*other_acts, *successors])}, {})

        self.writer.change_node(name, self.read, build)
        self.report(Event("changed", name, f"remediation: {act.rung} {end}"))


def ensure_same_record(case: Case, node: NodeRecord) -> None:
    """Raise RolloutError where somebody acts on the node, or changed its cordon."""
    cordon, shown_cordon = ((entry.cordoned, entry.cordon_record, entry.owns_cordon) for entry in (node, case.node))
    if cordon == shown_cordon and node.remediation_record == case.node.remediation_record:
        return
    message = f"Somebody else acts on {node.name}; nothing was changed."
    reason = "Its cordon or its record of acts changed at this moment."
    raise RolloutError("remediation-changed-since", message, reason, case.check_command)
