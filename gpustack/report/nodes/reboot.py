"""Rolling reboots, as text and as a JSON document: what is shown first, and the end of each node."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.events import format_count
from gpustack.nodes.gpu_jobs import describe_jobs
from gpustack.nodes.node_reboot import NodeOutcome, Outcome
from gpustack.nodes.reboot_plan import RebootPlan, RebootTarget
from gpustack.nodes.rolling_reboot import RebootResult
from gpustack.report.document import render_result
from gpustack.report.findings import print_field, print_text
from gpustack.report.human import print_next_command
from gpustack.report.nodes.renderings import REBOOT
from gpustack.report.nodes.text import CORDONS
from gpustack.report.schema import Document, Seconds, Shape, TextOrNull, take
from gpustack.report.terminal import Terminal
from gpustack.times import format_duration

INDENT = 11
STYLES: dict[Outcome, str] = {
    "rebooted": "green",
    "skipped": "yellow",
    "failed": "red",
    "stopped": "red",
    "due": "",
}


def render_plan(console: Terminal, plan: RebootPlan) -> None:
    """Print the nodes in their order, with the pods that leave and those that stand against it."""
    console.hide_secrets(plan.snapshot.inventory)
    title = f"continues the reboot of {plan.continues}" if plan.continues else "one host after the other"
    print_text(console, f"{format_count(len(plan.targets), 'host')} to be rebooted, {title}", "bold")
    if plan.finished_nodes:
        print_field(console, "done", ", ".join(plan.finished_nodes), INDENT)
    for target in plan.targets:
        print_target(console, target)


def print_target(console: Terminal, target: RebootTarget) -> None:
    drain = target.drain
    print_text(console, f"\n{target.node.name}{f', host {drain.host}' if drain.host else ''}", "bold")
    if target.boot is None:
        print_field(console, "unknown", target.unknown_reason, INDENT, "yellow", "yellow")
    if target.is_control_plane:
        reason = "control plane, so it comes last; the API gives no answer while it boots"
        print_field(console, "warning", reason, INDENT, "yellow", "yellow")
    if drain.cordon != "none":
        stays = "; it stays cordoned" if drain.cordon == "gpustack" and is_cordon_kept(target) else ""
        print_field(console, "cordon", f"{CORDONS[drain.cordon]}{stays}", INDENT)
    if drain.modules:
        print_field(console, "driver", f"held by {', '.join(module.name for module in drain.modules)}", INDENT)
    leaving = [resident for resident in drain.select("leaves") if resident not in target.jobs]
    print_field(console, "leave", ", ".join(resident.pod.full_name for resident in leaving) or "no pods", INDENT)
    if target.jobs:
        print_field(console, "wait", f"until these have ended: {describe_jobs(target.jobs)}", INDENT)
    for resident in filter(lambda resident: resident.reason, leaving):
        print_field(console, "warning", f"{resident.pod.full_name}: {resident.reason}", INDENT, "yellow", "yellow")
    for resident in target.refusals:
        print_field(console, "refused", f"{resident.pod.full_name}: {resident.reason}", INDENT, "red", "red")
    for resident in drain.residents:
        if resident.budget_reason:
            print_field(console, "budget", f"{resident.pod.full_name}: {resident.budget_reason}", INDENT, "yellow")


def is_cordon_kept(target: RebootTarget) -> bool:
    """Tell whether the node was cordoned before its reboot, also before one that is continued."""
    return target.record is None or target.record.cordoned


def render_human(console: Terminal, reboot: RebootResult, evidence: str = "") -> None:
    console.hide_secrets(reboot.plan.snapshot.inventory)
    if reboot.only_checked:
        render_plan(console, reboot.plan)
        print_text(console, "\nchecked only, nothing was changed")
        return
    if not reboot.outcomes:
        print_text(console, "no host asks for a reboot: nothing to do", "green")
        return
    for outcome in reboot.outcomes:
        print_outcome(console, outcome)
    code = reboot.exit_status
    ends = [outcome.outcome for outcome in reboot.outcomes]
    counts = ", ".join(f"{ends.count(end)} {end}" for end in dict.fromkeys(ends))
    print_text(console, f"\n{counts}; {format_duration(reboot.seconds)}", "" if code else "green")
    if code and evidence:
        print_text(console, f"evidence: {evidence}")
    print_next_command(console, reboot.next_command)


def print_outcome(console: Terminal, outcome: NodeOutcome) -> None:
    time = f" in {format_duration(outcome.seconds)}" if outcome.outcome == "rebooted" else ""
    reason = f": {outcome.reason}" if outcome.reason else ""
    print_field(console, outcome.outcome, f"{outcome.node}{time}{reason}", INDENT, "", STYLES[outcome.outcome])
    for pod in outcome.stranded_pods:
        end = "deleted, its controller has another pod" if pod in outcome.deleted_pods else "left as it is"
        print_field(console, "", f"{pod}: refused its GPUs after the boot; {end}", INDENT)


class OutcomeRow(Shape):
    """Describe the end of a node. `skipped` could not be rebooted now, `failed` is not as before, `stopped` is
    continued by the same command, and `due` had no turn."""

    node: str
    node_host: TextOrNull = take("host")
    outcome: Outcome
    reason: TextOrNull
    seconds: Seconds
    stranded_pods: list[str]
    deleted_pods: list[str]


class RebootDocument(Document):
    """Describe the result of `gpustack node reboot`."""

    kind: Literal["gpustack/node-reboot/v1"] = Field("gpustack/node-reboot/v1", alias="schema")
    nodes: list[OutcomeRow] = take("outcomes")
    only_checked: bool
    begun_by: TextOrNull = take("plan", "continues")
    finished_nodes: list[str] = take("plan", "finished_nodes")
    seconds: Seconds
    evidence_directory: TextOrNull
    next: TextOrNull = take("next_command")


def render_json(reboot: RebootResult, *, inventory: Inventory | None = None, evidence: str = "") -> str:
    return render_result(REBOOT, RebootDocument, reboot, inventory, evidence_directory=evidence)
