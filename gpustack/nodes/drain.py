"""The drain of a node: cordon, then evict its pods again and again until they have left or the time is over.

The state is in the API alone, so that a killed drain is continued by the same command: the node is cordoned already,
and the pods that have left are gone.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from gpustack.ask.snapshot import Snapshot
from gpustack.command import NO_HINT, Hint
from gpustack.errors import UnreachableError
from gpustack.events import INTERRUPTION, Event, Reporter, format_count
from gpustack.exit_status import ExitStatus, select_status
from gpustack.nodes.cordon import CordonState, build_cordon_command
from gpustack.nodes.drain_plan import DrainPlan, ensure_unchanged, plan_drain, read_residents, refuse_drain
from gpustack.nodes.eviction import build_eviction_script, parse_refusals
from gpustack.nodes.node_change import NodeWriter
from gpustack.nodes.residents import Resident
from gpustack.probes.kubernetes.node_records import NodeRecord
from gpustack.rollout.next_command import build_command
from gpustack.rollout.waiting import pause_between_rounds

PAUSE = 2.0
EVICTION_LIMIT = 120
"""Seconds for the evictions of one round."""


@dataclass(frozen=True)
class RemainingPod:
    """Hold a pod that did not leave, and why."""

    resident: Resident
    reason: str


@dataclass(frozen=True)
class DrainResult:
    """Hold the result of a drain. `remaining_pods` did not leave; `unknown_reason` says why that is unknown. `cordon`
    is who cordoned the node in the end. `only_checked` tells that nothing was changed because nobody asked for it."""

    plan: DrainPlan
    cordon: CordonState
    remaining_pods: tuple[RemainingPod, ...] = ()
    unknown_reason: str = ""
    seconds: float = 0.0
    stop_reason: str = ""
    only_checked: bool = False

    @property
    def exit_status(self) -> ExitStatus:
        refused_pods = self.only_checked and self.plan.select("refused")
        return select_status(
            interrupted=self.stop_reason == INTERRUPTION,
            failed=self.stop_reason,
            differs=self.remaining_pods or refused_pods,
            unknown=self.unknown_reason,
        )

    @property
    def next_command(self) -> Hint:
        """Return the command that makes a cordon of gpustack undone."""
        if self.cordon != "gpustack" or self.only_checked:
            return NO_HINT
        return build_command(self.plan.snapshot.inventory, "node", "uncordon", self.plan.node.name)


def check_drain(plan: DrainPlan) -> DrainResult:
    """Return the result of a drain that was only to be shown."""
    return DrainResult(plan, plan.cordon, only_checked=True)


@dataclass(frozen=True)
class Drain:
    """Drain a node. `gather` reads CLUSTER_PROBES about it, and `timeout` is the time in seconds that its pods have."""

    gather: Callable[[], Snapshot]
    writer: NodeWriter
    timeout: float
    report: Reporter
    find_stop_reason: Callable[[], str] = lambda: ""

    def run(self, preview: DrainPlan, ended_pods: Sequence[str] = ()) -> DrainResult:
        """Drain the node as it was shown. Raise RolloutError where it changed since, or the API refuses the cordon:
        then nothing was changed."""
        started_at, name = time.monotonic(), preview.node.name
        cordon = preview.cordon

        def read() -> NodeRecord:
            current = plan_drain(self.gather(), name, ended_pods)
            ensure_unchanged(preview, current)
            refuse_drain(current, ended_pods)
            return current.node

        if cordon == "none":
            self.writer.change_node(name, read, lambda node: build_cordon_command(node, self.writer.author))
            self.report(Event("changed", name, "cordoned"))
            cordon = "gpustack"
        else:
            read()
        result = self.evict_pods(preview, ended_pods, started_at)
        return replace(result, cordon=cordon, seconds=time.monotonic() - started_at)

    def evict_pods(self, preview: DrainPlan, ended_pods: Collection[str], started_at: float) -> DrainResult:
        """Evict the pods that were shown until none is left, or the time is over. They are read before each round: a
        job that ended meanwhile keeps its pod and its log. There is one round at least."""
        name, uids = preview.node.name, {resident.pod.uid for resident in preview.select("leaves")}
        remaining, refusals, unknown_reason = tuple(preview.select("leaves")), dict[str, str](), ""
        is_first = True
        while not (stop_reason := self.find_stop_reason()):
            round_start = time.monotonic()
            try:
                remaining = select_due(read_residents(self.gather(), ended_pods))
                unknown_reason = ""
            except UnreachableError as error:
                unknown_reason = error.reason
            seconds_passed = time.monotonic() - started_at
            if (not remaining and not unknown_reason) or (seconds_passed > self.timeout and not is_first):
                break
            due = [resident.pod for resident in remaining if resident.pod.uid in uids and not resident.pod.leaves]
            if due and not unknown_reason:
                output, fault = self.writer.run(name, build_eviction_script(due), EVICTION_LIMIT)
                refusals = {} if fault else parse_refusals(output)
            is_first = False
            self.report(Event("waiting", name, f"{format_count(len(remaining), 'pod')} left", seconds_passed))
            pause_between_rounds(time.monotonic() - round_start, self.find_stop_reason, PAUSE)
        pods = tuple(
            RemainingPod(resident, explain_remaining(resident, uids, refusals, stop_reason))
            for resident in (() if unknown_reason else remaining)
        )
        return DrainResult(preview, preview.cordon, pods, unknown_reason, stop_reason=stop_reason)


def select_due(residents: Sequence[Resident]) -> tuple[Resident, ...]:
    return tuple(resident for resident in residents if resident.fate != "stays")


def explain_remaining(
    resident: Resident, shown_uids: Collection[str], refusals: Mapping[str, str], stop_reason: str
) -> str:
    """Explain why a pod has not left. `refusals` are those of the API by the full names of pods."""
    if resident.pod.uid not in shown_uids:
        return "it came after the preview, and was not evicted"
    if resident.pod.leaves:
        return "its deletion has begun, and it has not ended"
    if refusal := resident.budget_reason or refusals.get(resident.pod.full_name, ""):
        return refusal
    return f"stopped: {stop_reason}" if stop_reason else "it was evicted, and the API does not show that yet"
