"""The rolling reboot: one host after the other, control planes last.

A node that cannot be rebooted now is skipped, and the next one comes. A node that does not come back as it was ends it:
what broke the one would break the others.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from gpustack.command import NO_HINT, Hint
from gpustack.config.inventory import Inventory
from gpustack.errors import GpustackError
from gpustack.events import INTERRUPTION
from gpustack.exit_status import ExitStatus, select_status
from gpustack.nodes.drain_plan import gather_node, read_node_record
from gpustack.nodes.gate import needs_gate
from gpustack.nodes.node_change import NodeWriter
from gpustack.nodes.node_reboot import NodeOutcome, NodeReboot, Outcome, Waits
from gpustack.nodes.reboot_plan import RebootPlan, RebootTarget
from gpustack.nodes.reboot_record import RebootRecord, build_record_command
from gpustack.nodes.reboot_silence import RebootSilence
from gpustack.nodes.reboot_verification import has_ready_exporter
from gpustack.rollout.next_command import build_command
from gpustack.rollout.run import Run

ENDING = frozenset({"failed", "stopped"})
"""Ends of a node that are the end of all."""
OpenRun = Callable[[], AbstractContextManager[tuple[Run, NodeWriter]]]
"""Such a function opens a run that holds the locks of all hosts of the reboot."""


@dataclass(frozen=True)
class RebootResult:
    """Hold the ends of all nodes, in their order. `only_checked` tells that nothing was changed, as nobody asked for
    it."""

    plan: RebootPlan
    outcomes: tuple[NodeOutcome, ...]
    seconds: float = 0.0
    only_checked: bool = False

    @property
    def is_complete(self) -> bool:
        return all(outcome.outcome in {"rebooted", "skipped"} for outcome in self.outcomes)

    @property
    def has_refused_pods(self) -> bool:
        """Tell whether a pod on one of the nodes would be refused, which is the end of its node."""
        return any(target.refusals for target in self.plan.targets)

    @property
    def exit_status(self) -> ExitStatus:
        ends = {outcome.outcome for outcome in self.outcomes}
        stop_reasons = {outcome.reason for outcome in self.outcomes if outcome.outcome == "stopped"}
        return select_status(
            interrupted=INTERRUPTION in stop_reasons,
            failed="failed" in ends or stop_reasons,
            differs="skipped" in ends or (self.only_checked and self.has_refused_pods),
        )

    @property
    def next_command(self) -> Hint:
        """Return the command that continues a reboot which is not complete, or the proof that opens gates."""
        inventory = self.plan.snapshot.inventory
        if self.only_checked:
            return NO_HINT
        if self.is_complete:
            hosts = [inventory.by_name[outcome.host] for outcome in self.outcomes if outcome.outcome == "rebooted"]
            gated = any(needs_gate(inventory.spec, host) for host in hosts)
            return build_command(inventory, "prove") if gated else self.suggest_evictions()
        names = [outcome.node for outcome in self.outcomes if outcome.outcome not in {"rebooted", "skipped"}]
        return build_command(inventory, "node", "reboot", *names)

    def suggest_evictions(self) -> Hint:
        """Return the command that evicts the pods for which nodes were skipped as well, or NO_HINT."""
        skipped_nodes = {outcome.node for outcome in self.outcomes if outcome.outcome == "skipped"}
        refusals = {
            target.node.name: target.refusals for target in self.plan.targets if target.node.name in skipped_nodes
        }
        options = [word for pods in refusals.values() for pod in pods for word in ("--end-pod", pod.pod.full_name)]
        names = [name for name, pods in refusals.items() if pods]
        command = build_command(self.plan.snapshot.inventory, "node", "reboot", *names)
        return command.extend(*options, note="ends these pods as well") if names else NO_HINT


def check_reboot(plan: RebootPlan) -> RebootResult:
    """Return the result of a reboot that was only to be shown."""
    return RebootResult(plan, tuple(map(build_open_outcome, plan.targets)), only_checked=True)


def build_open_outcome(target: RebootTarget) -> NodeOutcome:
    """Build the outcome of a node whose turn has not come."""
    if reason := explain_exclusion(target):
        outcome: Outcome = "failed" if target.record else "skipped"
        return NodeOutcome(target.node.name, target.drain.host, outcome, reason)
    return NodeOutcome(target.node.name, target.drain.host, "due")


def explain_exclusion(target: RebootTarget) -> str:
    """Explain why a node cannot be rebooted by gpustack; empty where it can."""
    if not target.drain.host:
        return target.unknown_reason
    if target.boot is None and target.record is None:
        return f"the boot of its host is unknown: {target.unknown_reason}"
    if target.record is None and (kernel := target.driverless_kernel):
        return (
            f"its host boots the kernel {kernel} next, for which no module of the NVIDIA driver is built, so that the"
            " node would have no GPUs; dkms status there tells more"
        )
    host = target.drain.snapshot.inventory.by_name[target.drain.host]
    return "gpustack runs on its host, and would end with it" if host.connection == "local" else ""


def build_record(target: RebootTarget, author: str) -> RebootRecord:
    """Build the record of a node before its reboot. Raise FactUnavailable where its pods are unknown."""
    drain, boot = target.drain, target.boot.identity if target.boot else ""
    moment, has_exporter = datetime.now(UTC).isoformat(timespec="seconds"), has_ready_exporter(drain.snapshot)
    return RebootRecord(drain.host, boot, drain.node.devices, has_exporter, author, moment, drain.node.cordoned)


def time_node(target: RebootTarget, reboot: Callable[[], NodeOutcome]) -> NodeOutcome:
    """Reboot a node, and return its end with the time of all of it. An error is the end of the node, and is not raised:
    the ends of other nodes are to be reported, too."""
    began = time.monotonic()
    try:
        outcome = reboot()
    except GpustackError as error:
        reason = f"{error.message} {error.reason}".strip()
        outcome = NodeOutcome(target.node.name, target.drain.host, "failed", reason)
    return replace(outcome, seconds=time.monotonic() - began)


@dataclass(frozen=True)
class RollingReboot:
    """Reboot the hosts of nodes. The locks of a control plane end with its boot, so that it gets runs of its own. With
    `keeps_cordon` the cordons of gpustack stay. `begin` is called under the locks before anything is recorded, and may
    raise."""

    inventory: Inventory
    open_run: OpenRun
    waits: Waits
    ended_pods: Sequence[str] = ()
    keeps_cordon: bool = False
    begin: Callable[[Run, NodeWriter], None] = lambda run, writer: None

    def run(self, plan: RebootPlan) -> tuple[NodeOutcome, ...]:
        """Reboot the nodes of a plan."""
        outcomes = {target.node.name: build_open_outcome(target) for target in plan.targets}
        if any(outcome.outcome == "failed" for outcome in outcomes.values()):
            return tuple(outcomes.values())
        due = [target for target in plan.targets if outcomes[target.node.name].outcome == "due"]
        records = {target.node.name: target.record for target in due if target.record}
        workers = [target for target in due if not target.is_control_plane]
        if due:
            with self.open_run() as (run, writer):
                self.begin(run, writer)
                for target in due:
                    if target.record is None:
                        records[target.node.name] = self.record_node(target, run, writer)
                for target in workers:
                    silence = self.build_silence(target)
                    reboot = self.build_reboot(target, records[target.node.name], run, writer, silence)
                    outcomes[target.node.name] = time_node(target, reboot.run)
                    if outcomes[target.node.name].outcome in ENDING:
                        return tuple(outcomes.values())
        for target in due[len(workers) :]:
            outcomes[target.node.name] = time_node(
                target, partial(self.reboot_plane, target, records[target.node.name])
            )
            if outcomes[target.node.name].outcome in ENDING:
                break
        return tuple(outcomes.values())

    def record_node(self, target: RebootTarget, run: Run, writer: NodeWriter) -> RebootRecord:
        """Record on a node that its reboot is to come."""
        record, name = build_record(target, writer.author), target.node.name

        read = partial(read_node_record, self.inventory, name, run.record, writer.via)
        writer.change_node(name, read, lambda node: build_record_command(node, record))
        return record

    def reboot_plane(self, target: RebootTarget, record: RebootRecord) -> NodeOutcome:
        silence = self.build_silence(target)
        with self.open_run() as (run, writer):
            reboot = self.build_reboot(target, record, run, writer, silence)
            if outcome := reboot.start():
                return outcome
            reboot = self.build_reboot(target, record, run, writer, silence, heeds_locks=False)
            if reason := reboot.wait_for_boot():
                return NodeOutcome(target.node.name, target.drain.host, "failed", reason)
        with self.open_run() as (run, writer):
            return self.build_reboot(target, record, run, writer, silence).complete()

    def build_silence(self, target: RebootTarget) -> RebootSilence:
        return RebootSilence(target.node.name, self.waits.boot)

    def build_reboot(
        self,
        target: RebootTarget,
        record: RebootRecord,
        run: Run,
        writer: NodeWriter,
        silence: RebootSilence,
        *,
        heeds_locks: bool = True,
    ) -> NodeReboot:
        """Build the reboot of a node. Without `heeds_locks` only a signal stops it."""
        name = target.node.name

        def find_signal() -> str:
            return INTERRUPTION if run.stop.is_set() else ""

        host = self.inventory.by_name[target.drain.host]
        return NodeReboot(
            node=name,
            host=host,
            record=record,
            gather=lambda probes, hosts: gather_node(self.inventory, name, run.record, probes, hosts),
            writer=writer,
            waits=self.waits,
            report=run.record,
            ended_pods=self.ended_pods,
            find_stop_reason=run.find_stop_reason if heeds_locks else find_signal,
            silence_alerts=lambda: silence.begin(run),
            repeat_silence=lambda: silence.repeat(run),
            keeps_cordon=self.keeps_cordon,
            gated=bool(record.devices) and needs_gate(self.inventory.spec, host),
        )
