"""The plan of a rolling reboot: its nodes in their order, and those of an earlier one that is continued."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from gpustack.ask.gather import gather, require_reach
from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.inventory import Inventory
from gpustack.events import Reporter
from gpustack.nodes.drain_plan import CLUSTER_PROBES, DrainPlan, build_drain_plan, gather_node
from gpustack.nodes.gpu_jobs import find_gpu_jobs
from gpustack.nodes.node_host import HOST_PROBES, read_node_records, require_node, require_node_name
from gpustack.nodes.reboot_record import RebootRecord, parse_reboot_record
from gpustack.nodes.residents import Resident
from gpustack.probes.gpu.packages import GPU_KERNELS
from gpustack.probes.host.boot_identity import BOOT_IDENTITY, BootIdentity
from gpustack.probes.kubernetes.node_records import NODE_RECORDS, NodeRecord

HOST_QUESTIONS = (*HOST_PROBES, NODE_RECORDS, BOOT_IDENTITY, GPU_KERNELS)


@dataclass(frozen=True)
class RebootTarget:
    """Hold a node that is to be rebooted. `boot` is that of its host, None where it is unknown, for `unknown_reason`;
    `record` is that of a reboot which is continued."""

    drain: DrainPlan
    boot: BootIdentity | None
    unknown_reason: str
    record: RebootRecord | None
    is_control_plane: bool
    jobs: tuple[Resident, ...]

    @property
    def node(self) -> NodeRecord:
        return self.drain.node

    @property
    def driverless_kernel(self) -> str:
        """Return the kernel of the next boot where it has no module of the NVIDIA driver while the running kernel has
        one; empty otherwise, and where the kernels are unknown."""
        view = View(self.drain.snapshot, self.drain.host)
        if not view.has_fact(GPU_KERNELS):
            return ""
        kernels = view[GPU_KERNELS]
        lacks_module = kernels.next and kernels.running.module and not kernels.next.module
        return kernels.next.release if kernels.next and lacks_module else ""

    @property
    def refusals(self) -> list[Resident]:
        """Return the pods that are no jobs, which the drain refuses."""
        return [resident for resident in self.drain.select("refused") if resident not in self.jobs]


@dataclass(frozen=True)
class RebootPlan:
    """Hold the nodes in their order, control planes last. `continues` is who began the reboot that is continued, empty
    for a new one. `finished_nodes` were done by it."""

    snapshot: Snapshot
    targets: tuple[RebootTarget, ...]
    continues: str = ""
    finished_nodes: tuple[str, ...] = ()


def gather_nodes(inventory: Inventory, names: Sequence[str], report: Reporter) -> dict[str, Snapshot]:
    """Ask all hosts once, and the API about each of these nodes, or about all. Return a snapshot for each node. Raise
    the errors of require_node and require_node_name, and UnreachableError where no host was reached."""
    for name in names:
        require_node_name(name)
    hosts_snapshot = gather(inventory, HOST_QUESTIONS, report=report)
    require_reach(hosts_snapshot)
    planes = [View(hosts_snapshot, CLUSTER).acting_host]
    return {
        name: hosts_snapshot.merge_snapshot(gather_node(inventory, name, report, CLUSTER_PROBES, planes))
        for name in list_nodes(hosts_snapshot, names)
    }


def list_nodes(snapshot: Snapshot, names: Sequence[str]) -> list[str]:
    """List the nodes with these names, or all of the cluster. Raise the errors of require_node."""
    for name in names:
        require_node(snapshot, name)
    if names:
        return list(dict.fromkeys(names))
    return sorted(record.name for record in read_node_records(snapshot))


def plan_reboot(
    snapshots: Mapping[str, Snapshot], ended_pods: Collection[str] = (), *, only_required: bool = False
) -> RebootPlan:
    """Plan the reboot of nodes, each with a snapshot that was asked about it. With `only_required` nodes are left out
    whose hosts need none. Where an earlier reboot is under way on some of them, it is continued, and the others are
    finished. Raise the errors of build_drain_plan."""
    targets = [plan_target(snapshot, name, ended_pods) for name, snapshot in snapshots.items()]
    targets.sort(key=lambda target: target.is_control_plane)
    authors = ", ".join(dict.fromkeys(target.record.author for target in targets if target.record))
    # Records are written and removed in the order of the nodes. So those before the first record were finished, and one
    # without a record behind it was not recorded yet.
    first = next((position for position, target in enumerate(targets) if target.record), 0)
    finished_nodes = tuple(target.node.name for target in targets[:first])
    due = [target for target in targets[first:] if target.record or not only_required or is_required(target)]
    return RebootPlan(targets[0].drain.snapshot, tuple(due), authors, finished_nodes)


def plan_target(snapshot: Snapshot, name: str, ended_pods: Collection[str]) -> RebootTarget:
    drain = build_drain_plan(snapshot, name, ended_pods)
    record, jobs = parse_reboot_record(drain.node.reboot_record), find_gpu_jobs(drain.residents, ended_pods)
    if record and not drain.host and record.host in snapshot.inventory.by_name:
        drain = replace(drain, host=record.host)
    is_plane = drain.host in {plane.name for plane in snapshot.inventory.control_planes}
    if not drain.host:
        return RebootTarget(drain, None, drain.unknown_holders_reason, record, is_plane, jobs)
    try:
        return RebootTarget(drain, View(snapshot, drain.host)[BOOT_IDENTITY], "", record, is_plane, jobs)
    except FactUnavailable as error:
        return RebootTarget(drain, None, str(error), record, is_plane, jobs)


def is_required(target: RebootTarget) -> bool:
    """Tell whether packages of the host ask for a reboot; true where that is unknown, as it is then reported."""
    return target.boot is None or target.boot.reboot_required
