"""Drains and reboots for the reports: what is shown first, and ends of all kinds."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gpustack.ask.snapshot import Snapshot
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.nodes.drain import DrainResult, RemainingPod
from gpustack.nodes.drain_plan import DrainPlan
from gpustack.nodes.gpu_jobs import find_gpu_jobs
from gpustack.nodes.host_silence import HostSilence
from gpustack.nodes.node_reboot import NodeOutcome
from gpustack.nodes.node_removal import NodeRemovalResult
from gpustack.nodes.reboot_plan import RebootPlan, RebootTarget
from gpustack.nodes.removal_plan import RemovalPlan, add_reset
from gpustack.nodes.residents import Resident, judge_residents
from gpustack.nodes.rolling_reboot import RebootResult
from gpustack.nodes.uncordon import UncordonResult
from gpustack.probes.gpu.device_holders import DEVICE_HOLDERS
from gpustack.probes.gpu.driver_modules import DRIVER_MODULES
from gpustack.probes.host.boot_identity import BOOT_IDENTITY
from gpustack.probes.kubernetes.disruption_budgets import DISRUPTION_BUDGETS
from gpustack.probes.kubernetes.local_volumes import LOCAL_VOLUMES
from gpustack.probes.kubernetes.node_pods import NODE_PODS
from gpustack.probes.kubernetes.node_records import NODE_RECORDS
from gpustack.report.nodes import json, reboot, removal, text
from tests.unit.report.screen import print_screen
from tests.worlds.results.plans import build_hosts
from tests.worlds.results.resets import make_preview
from tests.worlds.snapshots.answers import read_case

INVENTORY = Inventory(Path("site/hosts.yml"), build_hosts("kube1", "gpu1"), Spec())
TAKEN_AT = datetime(2026, 11, 30, 1, tzinfo=UTC)
NODE, _ = NODE_RECORDS.extract_fact(read_case(NODE_RECORDS.id, "cordoned-by-gpustack"))
PODS = NODE_PODS.extract_fact(read_case(NODE_PODS.id, "two-teams"))
BUDGETS = DISRUPTION_BUDGETS.extract_fact(read_case(DISRUPTION_BUDGETS.id, "two-teams"))
VOLUMES = LOCAL_VOLUMES.extract_fact(read_case(LOCAL_VOLUMES.id, "three-kinds"))
BOOT = BOOT_IDENTITY.extract_fact(read_case(BOOT_IDENTITY.id, "usual"))
UNCORDON_RESULT = UncordonResult(NODE, changed=True)


def judge_pods() -> tuple[Resident, ...]:
    return judge_residents(Spec(), PODS, BUDGETS, ["team-a/notebook"])


def make_plan() -> DrainPlan:
    holders = DEVICE_HOLDERS.extract_fact(read_case(DEVICE_HOLDERS.id, "pod-and-daemon"))
    modules = DRIVER_MODULES.extract_fact(read_case(DRIVER_MODULES.id, "display"))
    return DrainPlan(Snapshot(TAKEN_AT, INVENTORY, {}, {}), NODE, judge_pods(), "gpu1", holders, "", modules)


def make_partial_drain() -> DrainResult:
    plan = make_plan()
    remaining_pods = tuple(
        RemainingPod(resident, resident.budget_reason) for resident in plan.residents if resident.budget_reason
    )
    return DrainResult(plan, "gpustack", remaining_pods, seconds=301.2)


def make_unknown_drain() -> DrainResult:
    reason = "its host is unknown: no host has it"
    plan = replace(make_plan(), host="", holders=None, unknown_holders_reason=reason)
    plan = replace(plan, modules=None, unknown_modules_reason=reason)
    return DrainResult(plan, "others", unknown_reason="no answer within 10 s", seconds=300.4)


def make_reboot_plan() -> RebootPlan:
    plan = make_plan()
    residents = judge_pods()
    worker = RebootTarget(plan, BOOT, "", None, False, find_gpu_jobs(residents))
    node = replace(NODE, name="kube1", cordoned=False)
    idle = DrainPlan(plan.snapshot, node, (), "kube1", ())
    return RebootPlan(plan.snapshot, (worker, RebootTarget(idle, None, "no answer within 10 s", None, True, ())))


def make_mixed_reboot() -> RebootResult:
    outcomes = (
        NodeOutcome("gpu0", "gpu0", "rebooted", "", 94.2, ("team-a/train-1", "team-a/notebook"), ("team-a/train-1",)),
        NodeOutcome("gpu1", "gpu1", "skipped", "GPU jobs still run there after 1800 s: team-a/t-9 (Job t)", 1801),
        NodeOutcome("gpu2", "gpu2", "failed", "it offers 3 of 4 nvidia.com/gpu, after 1200 s", 1290.5),
        NodeOutcome("kube1", "kube1", "due"),
    )
    return RebootResult(replace(make_reboot_plan(), continues="ann@desk", finished_nodes=("gpu9",)), outcomes, 3186.0)


def make_dead_plan() -> RemovalPlan:
    signs = (
        "SSH to gpu1: no answer from 10.0.0.2 within 10 s",
        "its node is not Ready: Kubelet stopped posting node status.",
    )
    objections = ("its kubelet was heard of 2 min ago, and 5 min are needed",)
    plan = replace(make_plan(), host="", holders=None, unknown_holders_reason="its host is unknown: it was not reached")
    return RemovalPlan(plan, VOLUMES[:1], (), HostSilence("gpu1", signs, objections))


def make_partial_removal() -> NodeRemovalResult:
    drain = make_partial_drain()
    return NodeRemovalResult(RemovalPlan(drain.plan, VOLUMES), drain, seconds=301.5)


RENDERINGS: dict[str, Callable[[], str]] = {
    "node-drain-shown.txt": lambda: print_screen(lambda screen: text.render_plan(screen, make_plan())),
    "node-drain-left.txt": lambda: print_screen(
        lambda screen: text.render_drain(screen, make_partial_drain(), evidence="runs/1")
    ),
    "node-drain-left.json": lambda: json.render_drain(make_partial_drain(), evidence="runs/1"),
    "node-drain-unknown.txt": lambda: print_screen(
        lambda screen: text.render_drain(screen, make_unknown_drain(), evidence="runs/1")
    ),
    "node-reboot-shown.txt": lambda: print_screen(lambda screen: reboot.render_plan(screen, make_reboot_plan())),
    "node-reboot-mixed.txt": lambda: print_screen(
        lambda screen: reboot.render_human(screen, make_mixed_reboot(), evidence="runs/1")
    ),
    "node-reboot-mixed.json": lambda: reboot.render_json(make_mixed_reboot(), evidence="runs/1"),
    "node-remove-shown.txt": lambda: print_screen(
        lambda screen: removal.render_removal_plan(screen, add_reset(RemovalPlan(make_plan(), VOLUMES), make_preview()))
    ),
    "node-remove-not-dead.txt": lambda: print_screen(
        lambda screen: removal.render_removal_result(screen, NodeRemovalResult(make_dead_plan(), only_checked=True))
    ),
    "node-remove-left.txt": lambda: print_screen(
        lambda screen: removal.render_removal_result(screen, make_partial_removal(), evidence="runs/1")
    ),
    "node-remove-done.txt": lambda: print_screen(
        lambda screen: removal.render_removal_result(
            screen, NodeRemovalResult(make_dead_plan(), deleted=True, seconds=12.0)
        )
    ),
    "node-remove-left.json": lambda: removal.render_removal_json(make_partial_removal(), evidence="runs/1"),
    "node-uncordon.json": lambda: json.render_uncordon(UNCORDON_RESULT),
}
