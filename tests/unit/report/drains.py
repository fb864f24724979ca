"""Drains for the reports: what is shown first, one that leaves pods behind, and one of which the end is unknown."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gpustack.ask.snapshot import Snapshot
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.nodes.drain import DrainResult, RemainingPod
from gpustack.nodes.drain_plan import DrainPlan
from gpustack.nodes.residents import Resident, judge_residents
from gpustack.nodes.uncordon import UncordonResult
from gpustack.probes.gpu.device_holders import DEVICE_HOLDERS
from gpustack.probes.kubernetes.disruption_budgets import DISRUPTION_BUDGETS
from gpustack.probes.kubernetes.node_pods import NODE_PODS
from gpustack.probes.kubernetes.node_records import NODE_RECORDS
from gpustack.report.nodes import json, text
from tests.unit.report.screen import print_screen
from tests.worlds.results.plans import build_hosts
from tests.worlds.snapshots.answers import read_case

INVENTORY = Inventory(Path("site/hosts.yml"), build_hosts("kube1", "gpu1"), Spec())
TAKEN_AT = datetime(2026, 11, 30, 1, tzinfo=UTC)
NODE, _ = NODE_RECORDS.extract_fact(read_case(NODE_RECORDS.id, "cordoned-by-gpustack"))
PODS = NODE_PODS.extract_fact(read_case(NODE_PODS.id, "two-teams"))
BUDGETS = DISRUPTION_BUDGETS.extract_fact(read_case(DISRUPTION_BUDGETS.id, "two-teams"))
UNCORDON_RESULT = UncordonResult(NODE, changed=True)


def judge_pods() -> tuple[Resident, ...]:
    return judge_residents(PODS, BUDGETS, ["team-a/notebook"])


def make_plan() -> DrainPlan:
    holders = DEVICE_HOLDERS.extract_fact(read_case(DEVICE_HOLDERS.id, "pod-and-daemon"))
    return DrainPlan(Snapshot(TAKEN_AT, INVENTORY, {}, {}), NODE, judge_pods(), "gpu1", holders)


def make_partial_drain() -> DrainResult:
    plan = make_plan()
    remaining_pods = tuple(
        RemainingPod(resident, resident.budget_reason) for resident in plan.residents if resident.budget_reason
    )
    return DrainResult(plan, "gpustack", remaining_pods, seconds=301.2)


def make_unknown_drain() -> DrainResult:
    plan = replace(make_plan(), host="", holders=None, unknown_holders_reason="its host is unknown: no host has it")
    return DrainResult(plan, "others", unknown_reason="no answer within 10 s", seconds=300.4)


RENDERINGS: dict[str, Callable[[], str]] = {
    "node-drain-shown.txt": lambda: print_screen(lambda screen: text.render_plan(screen, make_plan())),
    "node-drain-left.txt": lambda: print_screen(
        lambda screen: text.render_drain(screen, make_partial_drain(), evidence="runs/1")
    ),
    "node-drain-left.json": lambda: json.render_drain(make_partial_drain(), evidence="runs/1"),
    "node-drain-unknown.txt": lambda: print_screen(
        lambda screen: text.render_drain(screen, make_unknown_drain(), evidence="runs/1")
    ),
    "node-uncordon.json": lambda: json.render_uncordon(UNCORDON_RESULT),
}
