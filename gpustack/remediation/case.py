"""The case of a node: the verdict on its GPUs, who runs there, other nodes, and earlier acts. Nothing is changed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.view import View
from gpustack.command import Command, Hint
from gpustack.config.inventory import Inventory
from gpustack.errors import UnreachableError
from gpustack.events import Reporter
from gpustack.health.fleet import Health, build_health
from gpustack.health.host_answers import HOST_SOURCE_PROBES, read_host_sources
from gpustack.health.host_sources import HostSources
from gpustack.health.judge import GpuHealth, select_worst
from gpustack.health.sign import Verdict
from gpustack.health.sources import NodeOffer, Sources
from gpustack.nodes.drain_plan import PROBES, DrainPlan, gather_node, plan_drain
from gpustack.nodes.node_host import read_node_records
from gpustack.nodes.reboot_record import parse_reboot_record
from gpustack.probes.gpu.cluster import GPU_NODES, GpuNode
from gpustack.probes.gpu.plugin_files import PLUGIN_FILES
from gpustack.probes.kubernetes.node_records import NodeRecord, parse_cordon
from gpustack.probes.kubernetes.nodes import NODES, Node
from gpustack.remediation.act_record import Act, parse_acts
from gpustack.remediation.reset import TAINT
from gpustack.remediation.rungs import RUNGS_BY_VERDICT, ActId
from gpustack.remediation.target import Target, select_target
from gpustack.rollout.next_command import build_command

CASE_PROBES: tuple[Probe[Any], ...] = (*PROBES, PLUGIN_FILES, GPU_NODES, *HOST_SOURCE_PROBES)


@dataclass(frozen=True)
class Case:
    """Hold what is known of a node. `health` is that of the cluster, and `verdict` and `gpus` are those of the target.
    `acts` is None where the record on the node cannot be read. `read_at` is by the clock of this machine."""

    target: Target
    health: Health
    gpus: tuple[GpuHealth, ...]
    verdict: Verdict
    offer: NodeOffer
    drain: DrainPlan
    nodes: tuple[NodeRecord, ...]
    kubelets: tuple[Node, ...]
    gpu_nodes: tuple[GpuNode, ...]
    acts: tuple[Act, ...] | None
    read_at: datetime

    @property
    def node(self) -> NodeRecord:
        return self.drain.node

    @property
    def inventory(self) -> Inventory:
        return self.drain.snapshot.inventory

    @property
    def check_command(self) -> Hint:
        """The command that shows the ladder and changes nothing."""
        return build_command(self.inventory, "remediate", self.target.label, "--check")

    @property
    def due_gpus(self) -> tuple[str, ...]:
        """The UUIDs of the GPUs of the target that ask for an act."""
        return tuple(sorted(entry.gpu.uuid for entry in self.gpus if entry.verdict in RUNGS_BY_VERDICT))

    @cached_property
    def request(self) -> Verdict:
        """The verdict, where it asks for an act: of another GPU one source alone adds nothing to it. Else the strongest
        that any source asks for."""
        if self.verdict in RUNGS_BY_VERDICT:
            return self.verdict
        return select_worst(sign.verdict for entry in self.gpus for sign in entry.signs)

    @cached_property
    def recent_acts(self) -> tuple[Act, ...]:
        """The acts since gpustack cordoned the node, or of the week where the record does not say when."""
        cordon = parse_cordon(self.node.cordon_record) if self.drain.cordon == "gpustack" else None
        cordoned_at = cordon.cordoned_at if cordon else None
        return tuple(act for act in self.acts or () if cordoned_at is None or act.begun_at >= cordoned_at)

    @property
    def withholds_gpus(self) -> bool:
        """Tell whether the kubelet withholds a GPU, and nothing else names a fault of any GPU of the node: the kubelet
        does not say which one it withholds, and its device plugin would offer all of them again. Prometheus has what it
        offered at the last scrape, and after a reset the API alone knows that it offers all again."""
        entries = [entry for entry in self.health.gpus if entry.gpu.node == self.node.name]
        verdicts = {
            sign.verdict for entry in entries for sign in entry.signs if sign.source not in ("kubelet", "proof")
        }
        is_known = all(entry.verdict != "unknown" for entry in entries) and self.verdict != "unknown"
        offered_count = sum(self.node.devices.values())
        return bool(self.offer.withheld_count) and offered_count < self.unit_count and is_known and verdicts <= {"ok"}

    @property
    def unit_count(self) -> int:
        """The count of GPUs and MIG instances that the node has by the API, also of those that it does not offer."""
        withheld = [
            total - offered_count
            for node in self.gpu_nodes
            if node.name == self.node.name
            for total, offered_count in node.withheld.values()
        ]
        return sum(self.node.devices.values()) + sum(withheld)

    @property
    def killed_reboot(self) -> Act | None:
        """The reboot of the record that a killed gpustack left, which is continued."""
        return self.find_begun_act("reboot") if parse_reboot_record(self.node.reboot_record) else None

    @property
    def killed_reset(self) -> Act | None:
        """The reset of the record that a killed gpustack left with its taint, which keeps the pods of DaemonSets away:
        it is ended, and not taken again."""
        return self.find_begun_act("reset") if any(taint["key"] == TAINT for taint in self.node.taints) else None

    def find_begun_act(self, rung: ActId) -> Act | None:
        """Find the last act of the record, where it is of this rung and has no end."""
        last = max(self.acts or (), key=lambda act: act.begun_at, default=None)
        return last if last and (last.rung, last.end) == (rung, "begun") else None


def read_case(
    inventory: Inventory,
    target: Target,
    read_sources: Callable[[HostSources], Sources],
    report: Reporter,
    ended_pods: Sequence[str] = (),
) -> Case:
    """Read a case. Raise UsageError for a node or a GPU that is not there, and UnreachableError where the API gave no
    answer."""
    snapshot = gather_node(inventory, target.node, report, CASE_PROBES)
    drain = plan_drain(snapshot, target.node, ended_pods)
    try:
        kubelets, gpu_nodes = View(snapshot, CLUSTER)[NODES], View(snapshot, CLUSTER)[GPU_NODES]
    except FactUnavailable as error:
        message = "The nodes of the cluster are not known; nothing was changed."
        raise UnreachableError("node-no-api", message, str(error), Command("gpustack", "verify")) from error
    sources = read_sources(read_host_sources(snapshot))
    health = build_health(sources)
    target_health = select_target(health, target)
    return Case(
        target,
        health,
        target_health.gpus,
        select_worst(entry.verdict for entry in (target_health.gpus if target.gpu else target_health.nodes)),
        sources.find_offer(target.node),
        drain,
        read_node_records(snapshot),
        kubelets,
        gpu_nodes,
        parse_acts(drain.node.remediation_record),
        datetime.now(UTC),
    )
