"""A rung of remediation: the verdict is read again, the act is recorded on the node, taken and verified."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gpustack.ask.probe import Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.errors import GpustackError, RolloutError
from gpustack.events import ignore_event
from gpustack.nodes.drain_plan import gather_node, list_new_pods, read_node_record
from gpustack.nodes.node_change import NodeWriter
from gpustack.nodes.node_reboot import Waits
from gpustack.nodes.reboot_plan import gather_nodes, plan_reboot
from gpustack.nodes.rolling_reboot import RollingReboot
from gpustack.proof.silence import leave_silence
from gpustack.remediation.act_record import Act
from gpustack.remediation.acts import Acts
from gpustack.remediation.case import Case
from gpustack.remediation.guards import explain_old_data, refuse_rung
from gpustack.remediation.ladder import Ladder, build_ladder
from gpustack.remediation.recorder import ActRecorder
from gpustack.remediation.reset import RESET_LIMIT
from gpustack.remediation.result import RemediationResult
from gpustack.remediation.rungs import ActId
from gpustack.rollout.run import Run

OpenRun = Callable[[], AbstractContextManager[tuple[Run, NodeWriter]]]


@dataclass(frozen=True)
class Remediation:
    """Take one rung. `read` reads the case, and `open_run` opens a run that holds the locks of the control planes and
    of the host. `ended_pods` are pods that a person gives up."""

    read: Callable[[], Case]
    open_run: OpenRun
    waits: Waits
    ended_pods: Sequence[str] = ()

    def run(self, preview: Ladder, act_id: ActId) -> RemediationResult:
        """Take the next rung as it was shown. Raise RolloutError where the case has changed since, a guard rail refuses
        it now, or somebody else acts on the node: then nothing was changed."""
        began = time.monotonic()
        if act_id == "reboot":
            result = self.reboot(preview)
            return replace(result, seconds=time.monotonic() - began)
        with self.open_run() as (run, writer):
            current, act = self.begin(preview, act_id, run, writer)
            reason = self.take(current.case, act, run, writer)
            stop_reason = run.find_stop_reason() if reason else ""
            if not stop_reason:
                self.build_recorder(current.case, run, writer).end(act, "failed" if reason else "done")
        seconds = time.monotonic() - began
        return RemediationResult(current, "failed" if reason else "done", reason, seconds, stop_reason=stop_reason)

    def begin(self, preview: Ladder, act_id: ActId, run: Run, writer: NodeWriter) -> tuple[Ladder, Act]:
        """Read the case again under the locks, and record that its act begins. Raise the errors of `run`."""
        current = ensure_same(preview, self.read)
        refuse_rung(current.refusals, act_id, preview.case.target.label)
        return current, self.build_recorder(current.case, run, writer).begin(act_id)

    def build_recorder(self, case: Case, run: Run, writer: NodeWriter) -> ActRecorder:
        read = partial(read_node_record, case.inventory, case.node.name, run.record, writer.via)
        return ActRecorder(case, read, writer, run.record)

    def take(self, case: Case, act: Act, run: Run, writer: NodeWriter) -> str:
        """Take a rung other than a reboot. Return why it failed."""

        def gather(probes: Sequence[Probe[Any]], hosts: Sequence[str]) -> Snapshot:
            return gather_node(case.inventory, case.node.name, run.record, probes, hosts)

        def explain_change() -> str:
            return explain_other_case(case, self.read())

        acts = Acts(case, gather, writer, self.waits, run.record, explain_change, self.ended_pods, run.find_stop_reason)
        try:
            match act.rung:
                case "drain":
                    return acts.drain()
                case "reset":
                    leave_silence(run, [case.node.name], RESET_LIMIT, "reset")
                    return acts.reset(act.gpus)
                case "device-plugin":
                    return acts.replace_plugin()
        except GpustackError as error:
            return f"{error.message} {error.reason}".strip()
        return ""

    def reboot(self, preview: Ladder) -> RemediationResult:
        """Reboot the host, and leave the node cordoned. The act is recorded under the same locks as the reboot, so that
        there is none of a reboot that never began."""
        case, begun_acts = preview.case, list[tuple[Ladder, Act]]()
        plan = plan_reboot(gather_nodes(case.inventory, [case.node.name], ignore_event), self.ended_pods)
        cordons = {target.drain.cordon for target in plan.targets}
        if cordons != {case.drain.cordon}:
            reason = f"the cordon is {', '.join(sorted(cordons))} now, and was {case.drain.cordon}"
            return RemediationResult(preview, "failed", reason)

        def begin(run: Run, writer: NodeWriter) -> None:
            begun_acts.append(self.begin(preview, "reboot", run, writer))

        rolling = RollingReboot(
            case.inventory, self.open_run, self.waits, self.ended_pods, keeps_cordon=True, begin=begin
        )
        (node,) = rolling.run(plan)
        reason = "" if node.outcome == "rebooted" else node.reason or node.outcome
        stop_reason = reason if node.outcome == "stopped" else ""
        for current, act in begun_acts if not stop_reason else ():
            with self.open_run() as (run, writer):
                recorder = self.build_recorder(current.case, run, writer)
                if node.outcome == "skipped":
                    recorder.remove_act(act)
                else:
                    recorder.end(act, "failed" if reason else "done")
        ladder = begun_acts[0][0] if begun_acts else preview
        return RemediationResult(ladder, "failed" if reason else "done", reason, stop_reason=stop_reason)


def ensure_same(preview: Ladder, read: Callable[[], Case]) -> Ladder:
    """Read the case again. Raise RolloutError where the verdict, the rung or an act is not what was shown."""
    current = build_ladder(read())
    pairs = [
        ("the verdict", preview.case.verdict, current.case.verdict),
        ("the next rung", describe_rung(preview), describe_rung(current)),
        ("the cordon", preview.case.drain.cordon, current.case.drain.cordon),
    ]
    changes = [f"{subject} is {after} now, and was {before}" for subject, before, after in pairs if after != before]
    if preview.case.node.remediation_record != current.case.node.remediation_record:
        changes.append("somebody acts on the node: its record of acts has changed")
    if preview.case.due_gpus != current.case.due_gpus:
        changes.append("other GPUs ask for the act now")
    if current.next_act == "drain":
        changes += list_new_pods(preview.case.drain, current.case.drain)
    if changes:
        label = preview.case.target.label
        message = f"{label} is not what was shown; nothing was changed."
        raise RolloutError("remediation-changed-since", message, "\n".join(changes), preview.case.check_command)
    return current


def explain_other_case(case: Case, current: Case) -> str:
    """Explain why an act that waited does not go on; empty where nothing stands against it."""
    if current.verdict != case.verdict:
        return f"the verdict is {current.verdict} now, and was {case.verdict}"
    if current.drain.cordon != case.drain.cordon:
        return f"the cordon is {current.drain.cordon} now, and was {case.drain.cordon}"
    return explain_old_data(current)


def describe_rung(ladder: Ladder) -> str:
    return ladder.next_rung.id if ladder.next_rung else "none"
