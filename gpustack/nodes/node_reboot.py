"""The reboot of one node: wait for its GPU jobs, drain, reboot its host, verify, uncordon.

What is done and what is to come follows from the node and its host alone, so that the same command continues a reboot
that was killed at any moment (gpustack/nodes/reboot_record.py).
"""

import shlex
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.errors import GpustackError, UnreachableError
from gpustack.events import Event, Reporter
from gpustack.nodes.cordon import build_cordon_command
from gpustack.nodes.drain import Drain
from gpustack.nodes.drain_plan import CLUSTER_PROBES, DrainPlan, build_drain_plan
from gpustack.nodes.gate import build_gate_command
from gpustack.nodes.gpu_jobs import describe_jobs, find_gpu_jobs
from gpustack.nodes.node_change import NodeWriter
from gpustack.nodes.node_host import require_node
from gpustack.nodes.reboot_record import RebootRecord, build_end_command
from gpustack.nodes.reboot_verification import explain_unfinished
from gpustack.nodes.residents import Resident
from gpustack.nodes.stranded_pods import build_removal_script, find_stranded_pods, select_replaced
from gpustack.probes.host.boot_identity import BOOT_IDENTITY
from gpustack.probes.kubernetes.gate import REBOOT as REBOOT_CAUSE
from gpustack.probes.kubernetes.live_controllers import LIVE_CONTROLLERS
from gpustack.probes.kubernetes.node_pods import NODE_PODS
from gpustack.probes.kubernetes.node_records import NODE_RECORDS, NodeRecord
from gpustack.rollout.waiting import pause_between_rounds

Outcome = Literal["rebooted", "skipped", "failed", "stopped", "due"]
PAUSE = 3.0
COMMAND_LIMIT = 30
"""Seconds for the command that begins the reboot of a host."""
# The timer outlives the connection, which ends before the host does.
REBOOT = """
read -r id </proc/sys/kernel/random/boot_id || exit
case {boot} in "$id"-*) ;; *) echo "it has another boot: $id" >&2; exit 1 ;; esac
systemd-run -q --collect --on-active=1s --timer-property=AccuracySec=100ms systemctl reboot
"""
Gather = Callable[[Sequence[Probe[Any]], Sequence[str]], Snapshot]
"""Such a function asks probes about the node, of the hosts of these names."""


@dataclass(frozen=True)
class NodeOutcome:
    """Hold the end of one node. `stranded_pods` were refused their GPUs after the boot, and `deleted_pods` are those of
    them that were deleted."""

    node: str
    host: str
    outcome: Outcome
    reason: str = ""
    seconds: float = 0.0
    stranded_pods: tuple[str, ...] = ()
    deleted_pods: tuple[str, ...] = ()


@dataclass(frozen=True)
class Waits:
    """Hold times in seconds: for GPU jobs to end, for pods to leave, and for a host to be back with its GPUs."""

    jobs: float
    drain: float
    boot: float


NO_WAITS = Waits(0, 0, 0)
"""The times of a command that takes only a cordon, for which nothing is waited."""


@dataclass(frozen=True)
class NodeReboot:
    """Reboot the host of a node. `record` is the state before. `ended_pods` are pods that a person gives up.
    `silence_alerts` silences what the reboot causes, and `repeat_silence` does so where that has failed. With
    `keeps_cordon` the node stays cordoned. With `gated` its gate is closed before the reboot, and stays closed until a
    proof."""

    node: str
    host: Host
    record: RebootRecord
    gather: Gather
    writer: NodeWriter
    waits: Waits
    report: Reporter
    ended_pods: Collection[str] = ()
    find_stop_reason: Callable[[], str] = lambda: ""
    silence_alerts: Callable[[], None] = lambda: None
    repeat_silence: Callable[[], None] = lambda: None
    keeps_cordon: bool = False
    gated: bool = False

    def run(self) -> NodeOutcome:
        return self.start() or self.complete()

    def start(self) -> NodeOutcome | None:
        """Drain the node and begin the reboot of its host, unless it has rebooted since the record. Return the end of
        the node where that is all: it is skipped, or the run is stopped."""
        if self.has_rebooted():
            return None
        reason = self.prepare()
        if stop_reason := self.find_stop_reason():
            return NodeOutcome(self.node, self.host.name, "stopped", stop_reason)
        if reason:
            self.end_reboot()
            return NodeOutcome(self.node, self.host.name, "skipped", reason)
        if self.gated:
            self.writer.change_node(self.node, self.read_node, lambda node: build_gate_command(node, REBOOT_CAUSE))
            self.report(Event("changed", self.node, "behind the gate until its GPUs are proven"))
        self.silence_alerts()
        self.report(Event("step", self.node, f"reboot of {self.host.name}"))
        script = REBOOT.format(boot=shlex.quote(self.record.boot))
        _, fault = self.writer.run(self.node, script, COMMAND_LIMIT, self.host)
        if fault.startswith("the command returned"):
            return NodeOutcome(self.node, self.host.name, "failed", fault)
        return None

    def has_rebooted(self) -> bool:
        """Tell whether the host has another boot than that of the record, or is down."""
        try:
            view = View(self.gather([BOOT_IDENTITY], [self.host.name]), self.host.name)
        except UnreachableError:
            return True
        return not view.has_fact(BOOT_IDENTITY) or view[BOOT_IDENTITY].identity != self.record.boot

    def prepare(self) -> str:
        """Cordon the node, wait for its GPU jobs, and drain it. Return the reason why it cannot be rebooted now; empty
        where it can, and where the run is stopped."""
        plan = self.read_plan()
        jobs = find_gpu_jobs(plan.residents, self.ended_pods)
        if reason := describe_refused(resident for resident in plan.select("refused") if resident not in jobs):
            return reason
        if plan.cordon == "none":
            self.writer.change_node(
                self.node, lambda: self.read_plan().node, lambda node: build_cordon_command(node, self.writer.author)
            )
            self.report(Event("changed", self.node, "cordoned"))
        if reason := self.wait_for_jobs():
            return reason
        plan = self.read_plan()
        if reason := describe_refused(plan.select("refused")):
            return reason
        drain = Drain(self.read_cluster, self.writer, self.waits.drain, self.report, self.find_stop_reason).evict_pods(
            plan, self.ended_pods, time.monotonic()
        )
        remaining = [f"{pod.resident.pod.full_name}: {pod.reason}" for pod in drain.remaining_pods]
        return drain.unknown_reason or "; ".join(remaining)

    def wait_for_jobs(self) -> str:
        """Wait until no GPU job is left. Return which ones are left when the time is over."""
        started_at = time.monotonic()
        while not self.find_stop_reason():
            round_start = time.monotonic()
            if not (jobs := find_gpu_jobs(self.read_plan().residents, self.ended_pods)):
                return ""
            seconds_passed = round_start - started_at
            if seconds_passed > self.waits.jobs:
                return f"GPU jobs still run there after {seconds_passed:.0f} s: {describe_jobs(jobs)}"
            self.report(Event("waiting", self.node, f"GPU jobs: {describe_jobs(jobs)}", seconds_passed))
            pause_between_rounds(time.monotonic() - round_start, self.find_stop_reason, PAUSE)
        return ""

    def complete(self) -> NodeOutcome:
        """Wait until the node is back as it was, and uncordon it where gpustack cordoned it."""
        started_at = time.monotonic()
        reason = self.wait_until_back(
            lambda snapshot: explain_unfinished(snapshot, self.node, self.host.name, self.record)
        )
        seconds = time.monotonic() - started_at
        if reason and (stop_reason := self.find_stop_reason()):
            return NodeOutcome(self.node, self.host.name, "stopped", stop_reason)
        if reason:
            return NodeOutcome(self.node, self.host.name, "failed", f"{reason}, after {seconds:.0f} s")
        stranded_pods, deleted_pods = self.tidy_stranded_pods()
        self.end_reboot()
        return NodeOutcome(
            self.node, self.host.name, "rebooted", stranded_pods=stranded_pods, deleted_pods=deleted_pods
        )

    def wait_until_back(self, explain: Callable[[Snapshot], str]) -> str:
        """Wait until there is nothing to explain any more. Return the last explanation where the time is over or the
        run is stopped."""
        started_at = time.monotonic()
        while True:
            round_start = time.monotonic()
            try:
                snapshot = self.gather([*CLUSTER_PROBES, BOOT_IDENTITY], [self.writer.via.name, self.host.name])
                if View(snapshot, CLUSTER).has_fact(NODE_RECORDS):
                    self.repeat_silence()
                reason = explain(snapshot)
            except GpustackError as error:
                reason = error.reason or error.message
            seconds_passed = time.monotonic() - started_at
            if not reason or seconds_passed > self.waits.boot or self.find_stop_reason():
                return reason
            self.report(Event("waiting", self.node, reason, seconds_passed))
            pause_between_rounds(time.monotonic() - round_start, self.find_stop_reason, PAUSE)

    def wait_for_boot(self) -> str:
        """Wait until the host has another boot and the API answers. Return the reason where they do not in time."""

        def explain(snapshot: Snapshot) -> str:
            view = View(snapshot, self.host.name)
            if not view.has_fact(BOOT_IDENTITY) or view[BOOT_IDENTITY].identity == self.record.boot:
                return "its host has not rebooted yet"
            return "" if view.has_fact(NODE_RECORDS) else "the API gives no answer yet"

        return self.wait_until_back(explain)

    def tidy_stranded_pods(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Delete the pods that were refused their GPUs and are replaced. Return the names of all that were refused, and
        of those deleted."""
        view = View(self.gather([NODE_PODS, LIVE_CONTROLLERS], [self.writer.via.name]), CLUSTER)
        try:
            pods, live_controllers = view[NODE_PODS], view[LIVE_CONTROLLERS]
        except FactUnavailable:
            return (), ()
        stranded_pods = find_stranded_pods(pods)
        names, due = tuple(pod.full_name for pod in stranded_pods), select_replaced(stranded_pods, live_controllers)
        output, _ = self.writer.run(self.node, build_removal_script(due)) if due else ("", "")
        return names, tuple(output.splitlines())

    def end_reboot(self) -> None:
        """Remove the record, and the cordon where this reboot made it and it is not to be kept."""
        keeps_cordon = self.keeps_cordon or self.record.cordoned
        self.writer.change_node(
            self.node, self.read_node, lambda node: build_end_command(node, keeps_cordon=keeps_cordon)
        )

    def read_node(self) -> NodeRecord:
        return require_node(self.read_cluster(), self.node)

    def read_plan(self) -> DrainPlan:
        return build_drain_plan(self.read_cluster(), self.node, self.ended_pods)

    def read_cluster(self) -> Snapshot:
        return self.gather(CLUSTER_PROBES, [self.writer.via.name])


def describe_refused(residents: Iterable[Resident]) -> str:
    """Describe pods that a drain refuses; empty where there are none."""
    reasons = "; ".join(f"{resident.pod.full_name}: {resident.reason}" for resident in residents)
    return f"pods would lose what nobody brings back ({reasons})" if reasons else ""
