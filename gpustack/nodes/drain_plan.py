"""The plan of a drain: who runs on a node, what would leave it, and what stands against that. Nothing is changed."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gpustack.ask.gather import gather, require_reach
from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.errors import RolloutError, UnreachableError, UsageError
from gpustack.events import Reporter
from gpustack.nodes.cordon import CordonState, classify_cordon
from gpustack.nodes.named_pods import includes_pod, require_patterns
from gpustack.nodes.node_host import HOST_PROBES, find_host_of_node, require_node, require_node_name
from gpustack.nodes.residents import Fate, Resident, judge_residents
from gpustack.probes.gpu.device_holders import DEVICE_HOLDERS, DeviceHolder
from gpustack.probes.gpu.driver_modules import DRIVER_MODULES, DriverModule
from gpustack.probes.kubernetes.disruption_budgets import DISRUPTION_BUDGETS
from gpustack.probes.kubernetes.node_pods import NODE_PODS, NODE_VARIABLE
from gpustack.probes.kubernetes.node_records import NODE_RECORDS, NodeRecord, parse_cordon
from gpustack.rollout.next_command import build_command

Fact = TypeVar("Fact")
CLUSTER_PROBES: tuple[Probe[Any], ...] = (NODE_RECORDS, NODE_PODS, DISRUPTION_BUDGETS)
PROBES: tuple[Probe[Any], ...] = (*CLUSTER_PROBES, *HOST_PROBES, DEVICE_HOLDERS, DRIVER_MODULES)


@dataclass(frozen=True)
class DrainPlan:
    """Hold what a drain would do. `host` is the name of the node's host, empty where that is unknown. `holders` are the
    processes on that host that use its GPUs, None where they are unknown, for `unknown_holders_reason`. `modules` are
    those of its kernel that hold the driver, None where they are unknown, for `unknown_modules_reason`."""

    snapshot: Snapshot
    node: NodeRecord
    residents: tuple[Resident, ...]
    host: str = ""
    holders: tuple[DeviceHolder, ...] | None = None
    unknown_holders_reason: str = ""
    modules: tuple[DriverModule, ...] | None = None
    unknown_modules_reason: str = ""

    @property
    def acting_host(self) -> Host:
        return View(self.snapshot, CLUSTER).host

    @property
    def cordon(self) -> CordonState:
        return classify_cordon(self.node)

    @property
    def cordon_author(self) -> str:
        """Return for whom gpustack cordoned the node; empty where it did not, or the record does not say it."""
        cordon = parse_cordon(self.node.cordon_record) if self.cordon == "gpustack" else None
        return cordon.author if cordon else ""

    @property
    def is_complete(self) -> bool:
        """Tell whether there is nothing left to do."""
        return self.node.cordoned and not self.select("leaves") and not self.select("refused")

    def name_holder_pod(self, holder: DeviceHolder) -> str:
        """Name the pod of a process, by its uid where it is not on the node; empty for a process outside of pods."""
        names = {resident.pod.uid: resident.pod.full_name for resident in self.residents}
        return names.get(holder.pod_uid, holder.pod_uid)

    def select(self, fate: Fate) -> tuple[Resident, ...]:
        """Select the pods with this fate."""
        return tuple(resident for resident in self.residents if resident.fate == fate)


def gather_node(
    inventory: Inventory, name: str, report: Reporter, probes: Sequence[Probe[Any]] = PROBES, hosts: Sequence[str] = ()
) -> Snapshot:
    """Ask the hosts about a node. Raise UsageError for a text that is no name, and UnreachableError where no host was
    reached."""
    require_node_name(name)
    snapshot = gather(inventory, probes, hosts=hosts, variables={NODE_VARIABLE: name}, report=report)
    require_reach(snapshot)
    return snapshot


def read_node_record(inventory: Inventory, name: str, report: Reporter, via: Host) -> NodeRecord:
    """Read a node again, through this control plane. Raise the errors of `gather_node` and `require_node`."""
    return require_node(gather_node(inventory, name, report, [NODE_RECORDS], [via.name]), name)


def plan_drain(snapshot: Snapshot, name: str, ended_pods: Collection[str] = ()) -> DrainPlan:
    """Plan the drain of a node. Raise UsageError for an unknown node or pod, and UnreachableError where the API gave no
    answer."""
    plan = build_drain_plan(snapshot, name, ended_pods)
    refuse_unknown_pods([plan], ended_pods)
    return plan


def refuse_unknown_pods(plans: Sequence["DrainPlan"], ended_pods: Collection[str]) -> None:
    """Raise UsageError for a pattern that names no pod on the nodes, and InputError for what is no pattern."""
    require_patterns(ended_pods)
    names = {resident.pod.full_name for plan in plans for resident in plan.residents}
    if odd := [pattern for pattern in ended_pods if not any(includes_pod([pattern], name) for name in names)]:
        nodes = ", ".join(plan.node.name for plan in plans)
        reason = f"Pods there: {', '.join(sorted(names)) or 'none'}"
        raise UsageError("node-unknown-pod", f"There is no pod {', '.join(odd)} on {nodes}.", reason)


def build_drain_plan(snapshot: Snapshot, name: str, ended_pods: Collection[str] = ()) -> DrainPlan:
    """Build the plan of a drain, also where some of the pods are not on the node. Raise UsageError for an unknown node,
    and UnreachableError where the API gave no answer."""
    node, residents = require_node(snapshot, name), read_residents(snapshot, ended_pods)
    host, reason = find_host_of_node(snapshot, name)
    if not host:
        unknown_reason = f"its host is unknown: {reason}"
        return DrainPlan(
            snapshot, node, residents, unknown_holders_reason=unknown_reason, unknown_modules_reason=unknown_reason
        )
    view = View(snapshot, host)
    holders, modules = read_known(view, DEVICE_HOLDERS), read_known(view, DRIVER_MODULES)
    return DrainPlan(snapshot, node, residents, host, *holders, *modules)


def read_known(view: View, probe: Probe[Fact]) -> tuple[Fact | None, str]:
    """Read a fact. Return None with the reason where it is unknown."""
    try:
        return view[probe], ""
    except FactUnavailable as error:
        return None, str(error)


def read_residents(snapshot: Snapshot, ended_pods: Collection[str]) -> tuple[Resident, ...]:
    """Judge the pods of the node that was asked about. Raise UnreachableError where they, or the budgets, are
    unknown."""
    view = View(snapshot, CLUSTER)
    try:
        pods, budgets = view[NODE_PODS], view[DISRUPTION_BUDGETS]
    except FactUnavailable as error:
        message = "The pods of the node are not known; nothing was changed."
        raise UnreachableError("node-no-api", message, str(error), Command("gpustack", "verify")) from error
    return judge_residents(snapshot.inventory.spec, pods, budgets, ended_pods)


def refuse_drain(plan: DrainPlan, ended_pods: Sequence[str] = (), words: Sequence[str] = ()) -> None:
    """Raise RolloutError where pods would lose what nobody brings back, and nobody named them. `words` are the command
    that takes their names, `node drain` by default."""
    if not (refused_residents := plan.select("refused")):
        return
    reason = "\n".join(f"{resident.pod.full_name}: {resident.reason}" for resident in refused_residents)
    names = [*ended_pods, *(resident.pod.full_name for resident in refused_residents)]
    options = [word for name in names for word in ("--end-pod", name)]
    hint = build_command(plan.snapshot.inventory, *(words or ("node", "drain", plan.node.name))).extend(
        *options, note="ends these pods as well"
    )
    message = f"Pods on {plan.node.name} would lose what nobody brings back; nothing was changed."
    raise RolloutError("node-pods-refused", message, reason, hint)


def list_new_pods(preview: DrainPlan, current: DrainPlan) -> list[str]:
    """List the pods that would leave and were not shown, as reasons against it."""
    shown_uids = {resident.pod.uid for resident in preview.residents}
    return [
        f"{resident.pod.full_name} came to the node"
        for resident in current.residents
        if resident.fate != "stays" and resident.pod.uid not in shown_uids
    ]


def ensure_unchanged(preview: DrainPlan, current: DrainPlan) -> None:
    """Raise RolloutError where pods would leave that were not shown, or the cordon is another one."""
    changes = list_new_pods(preview, current)
    if preview.cordon != current.cordon:
        changes.append(f"the cordon is {current.cordon} now, and was {preview.cordon}")
    if changes:
        message = f"The node {preview.node.name} is not what was shown; nothing was changed."
        hint = build_command(preview.snapshot.inventory, "node", "drain", preview.node.name)
        raise RolloutError("node-changed-since", message, "\n".join(changes), hint)
