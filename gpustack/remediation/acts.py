"""The acts: each changes one thing, verifies it, and returns why it failed; an empty text where it did not."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.errors import GpustackError, RolloutError
from gpustack.events import Event, Reporter
from gpustack.nodes.drain import Drain
from gpustack.nodes.drain_plan import CLUSTER_PROBES, read_residents
from gpustack.nodes.gate import build_gate_command, needs_gate
from gpustack.nodes.gpu_jobs import describe_jobs, find_gpu_jobs
from gpustack.nodes.node_change import NodeWriter
from gpustack.nodes.node_host import require_node
from gpustack.nodes.node_reboot import Waits
from gpustack.nodes.reboot_verification import has_ready_exporter
from gpustack.nodes.stranded_pods import build_removal_script
from gpustack.probes.kubernetes.gate import RESET
from gpustack.probes.kubernetes.node_pods import NodePod
from gpustack.probes.kubernetes.node_records import NODE_RECORDS, NodeRecord
from gpustack.remediation.case import Case
from gpustack.remediation.reset import (
    RESET_LIMIT,
    build_presence_script,
    build_reset_script,
    build_taint_command,
    build_untaint_script,
)
from gpustack.rollout.waiting import pause_between_rounds
from gpustack.steps.gpu.mode import has_nvswitches

PAUSE = 3.0
ROUNDS = 60
"""Rounds of two seconds in which processes may leave the GPUs before a reset."""
UNKNOWN_RESET = "gpustack was killed during the reset, and whether it reset the GPUs is unknown"
PLUGIN, PLUGIN_SHARE = "device-plugin", "mps"
Gather = Callable[[Sequence[Probe[Any]], Sequence[str]], Snapshot]


@dataclass(frozen=True)
class Acts:
    """Take an act on the node of a case. `gather` asks probes about it, of the hosts of these names. `explain_change`
    says how the verdict has changed since."""

    case: Case
    gather: Gather
    writer: NodeWriter
    waits: Waits
    report: Reporter
    explain_change: Callable[[], str]
    ended_pods: Collection[str] = ()
    find_stop_reason: Callable[[], str] = lambda: ""

    @property
    def node(self) -> str:
        return self.case.node.name

    def read_node(self) -> NodeRecord:
        return require_node(self.gather([NODE_RECORDS], [self.writer.via.name]), self.node)

    def read_cluster(self) -> Snapshot:
        return self.gather(CLUSTER_PROBES, [self.writer.via.name])

    def drain(self) -> str:
        """Wait for GPU jobs to end, then evict the pods that were shown, unless the verdict is another one by then. A
        pod has its terminationGracePeriodSeconds and its preStop hook, in which it may write a checkpoint."""
        has_jobs = bool(find_gpu_jobs(self.case.drain.residents, self.ended_pods))
        if reason := self.wait_until(self.explain_jobs, self.waits.jobs):
            return reason
        if has_jobs and (reason := self.explain_change()):
            return reason
        drain = Drain(self.read_cluster, self.writer, self.waits.drain, self.report, self.find_stop_reason)
        result = drain.evict_pods(self.case.drain, self.ended_pods, time.monotonic())
        remaining = [f"{pod.resident.pod.full_name}: {pod.reason}" for pod in result.remaining_pods]
        return result.unknown_reason or "; ".join(remaining)

    def explain_jobs(self) -> str:
        jobs = find_gpu_jobs(read_residents(self.read_cluster(), self.ended_pods), self.ended_pods)
        return f"GPU jobs run there: {describe_jobs(jobs)}" if jobs else ""

    def reset(self, uuids: Collection[str]) -> str:
        """Reset GPUs while the pods of DaemonSets that have them open are away. Of a reset that was killed only the
        pods are brought back: whether the GPUs were reset is unknown."""
        if self.case.killed_reset:
            if fault := self.writer.run(self.node, build_untaint_script(self.node))[1]:
                return fault
            return self.wait_until(lambda: self.explain_missing_gpus(exporter=False), self.waits.boot) or UNKNOWN_RESET
        host = self.find_host()
        try:
            whole_baseboard = has_nvswitches(View(self.case.drain.snapshot, host.name))
        except FactUnavailable as error:
            return f"whether the host has NVSwitches is unknown: {error}"
        if fault := self.writer.run(self.node, build_presence_script(uuids), via=host)[1]:
            return fault
        if needs_gate(self.case.inventory.spec, host):
            self.writer.change_node(self.node, self.read_node, lambda node: build_gate_command(node, RESET))
        exporter = has_ready_exporter(self.case.drain.snapshot)
        output = ""
        try:
            if not (fault := self.writer.run(self.node, build_taint_command(self.node))[1]):
                script = build_reset_script(uuids, whole_baseboard=whole_baseboard, rounds=ROUNDS)
                output, fault = self.writer.run(self.node, script, RESET_LIMIT, host)
        finally:
            taint_fault = self.writer.run(self.node, build_untaint_script(self.node))[1]
        missing = sorted(set(uuids) - set(output.split()))
        if fault or taint_fault or missing:
            return fault or taint_fault or f"nvidia-smi does not list {', '.join(missing)} after the reset"
        return self.wait_until(lambda: self.explain_missing_gpus(exporter=exporter), self.waits.boot)

    def replace_plugin(self) -> str:
        """Delete the pod of the device plugin, whose DaemonSet makes a new one."""
        plugins = [resident.pod for resident in self.case.drain.residents if is_plugin(resident.pod)]
        if not plugins:
            return "no pod of a device plugin is on the node"
        output, fault = self.writer.run(self.node, build_removal_script(plugins))
        if fault or not output.split():
            return fault or f"the API did not delete {plugins[0].full_name}"
        return self.wait_until(lambda: self.explain_missing_gpus(exporter=False), self.waits.boot)

    def explain_missing_gpus(self, *, exporter: bool) -> str:
        """Explain what the node still lacks; empty where it offers all GPUs again. A node of which no GPU was known
        before does not show that it has all of them."""
        snapshot, count = self.read_cluster(), max(1, self.case.unit_count)
        offered_count = sum(require_node(snapshot, self.node).devices.values())
        if offered_count < count:
            return f"it offers {offered_count} of {count} GPUs"
        try:
            return "its exporter of GPUs is not ready" if exporter and not has_ready_exporter(snapshot) else ""
        except FactUnavailable as error:
            return f"its pods are unknown: {error}"

    def find_host(self) -> Host:
        """Find the host of the node. Raise RolloutError where it is unknown."""
        if host := self.case.inventory.by_name.get(self.case.drain.host):
            return host
        reason = self.case.drain.unknown_holders_reason
        raise RolloutError("remediation-refused", f"The host of {self.node} is unknown; nothing was changed.", reason)

    def wait_until(self, explain: Callable[[], str], limit: float) -> str:
        """Wait until there is nothing to explain any more. Return the last explanation where the time is over or the
        run is stopped."""
        started_at = time.monotonic()
        while True:
            round_start = time.monotonic()
            try:
                reason = explain()
            except GpustackError as error:
                reason = error.reason or error.message
            seconds_passed = time.monotonic() - started_at
            if not reason or self.find_stop_reason():
                return reason and self.find_stop_reason()
            if seconds_passed > limit:
                return f"{reason}, after {seconds_passed:.0f} s"
            self.report(Event("waiting", self.node, reason, seconds_passed))
            pause_between_rounds(time.monotonic() - round_start, self.find_stop_reason, PAUSE)


def is_plugin(pod: NodePod) -> bool:
    """Tell whether a pod is of NVIDIA's device plugin, of the GPU operator or of gpustack."""
    return pod.owner_kind == "DaemonSet" and PLUGIN in pod.owner and PLUGIN_SHARE not in pod.owner
