"""Drains for people: who runs on the node, what leaves, and what stands against that."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from gpustack.events import format_count
from gpustack.nodes.cordon import CordonState
from gpustack.nodes.drain import DrainResult
from gpustack.nodes.drain_plan import DrainPlan
from gpustack.nodes.residents import Fate, Resident
from gpustack.nodes.uncordon import UncordonResult
from gpustack.report.findings import print_field, print_text
from gpustack.report.human import print_next_command
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal
from gpustack.times import format_duration

INDENT = 11
ORDER: dict[Fate, int] = {"refused": 0, "leaves": 1, "stays": 2}
CORDONS: dict[CordonState, str] = {
    "none": "not cordoned: it takes new pods",
    "gpustack": "cordoned by gpustack",
    "others": "cordoned by somebody else; gpustack leaves that cordon as it is",
}


def render_plan(console: Terminal, plan: DrainPlan) -> None:
    console.hide_secrets(plan.snapshot.inventory)
    print_text(console, f"node {plan.node.name}{f', host {plan.host}' if plan.host else ''}: to be drained", "bold")
    author = plan.cordon_author
    print_field(console, "cordon", f"{CORDONS[plan.cordon]}{f' ({author})' if author else ''}", INDENT)
    if not plan.node.ready:
        print_field(console, "not Ready", plan.node.reason, INDENT, "yellow", "yellow")
    if plan.residents:
        print_residents(console, plan.residents, plan.snapshot.started_at)
    else:
        print_field(console, "pods", "none", INDENT)
    print_holders(console, plan)
    print_modules(console, plan)


def print_residents(console: Terminal, residents: Sequence[Resident], time: datetime) -> None:
    """Print the pods of a node, and the budgets that hold them there."""
    headings = ("POD", "OWNER", "GPUS", "AGE", "DRAIN")
    console.print(draw_table(console, headings, list_resident_rows(residents, time, describe_fate)))
    print_budgets(console, residents)


def list_resident_rows(
    residents: Sequence[Resident], time: datetime, describe: Callable[[Resident], str]
) -> Iterator[tuple[str, ...]]:
    """List the pods of a node, those first that need a person. `describe` says what becomes of a pod."""
    for resident in sorted(residents, key=lambda resident: ORDER[resident.fate]):
        pod = resident.pod
        seconds = (time - pod.started_at).total_seconds() if pod.started_at else -1.0
        age = format_duration(seconds) if seconds >= 0 else "-"  # By clocks that are apart, it is of the future.
        yield pod.full_name, pod.controller or "none", str(pod.devices or "-"), age, describe(resident)


def describe_fate(resident: Resident) -> str:
    fate = "is leaving" if resident.pod.leaves and resident.fate == "leaves" else resident.fate
    waits = ", waits for its budget" if resident.budget_reason else ""
    return f"{fate}{waits}{f': {resident.reason}' if resident.reason else ''}"


def print_budgets(console: Terminal, residents: Sequence[Resident]) -> None:
    """Print the budgets that allow no eviction now, each once, with the number of its pods."""
    counts = Counter(resident.budget_reason for resident in residents if resident.budget_reason)
    for reason, count in counts.items():
        print_field(console, "waits", f"{format_count(count, 'pod')}: {reason}", INDENT, "yellow", "yellow")


def print_holders(console: Terminal, plan: DrainPlan) -> None:
    """Print the processes that hold GPUs."""
    if plan.holders is None:
        reason = f"which processes hold /dev/nvidia* is unknown: {plan.unknown_holders_reason}"
        print_field(console, "unknown", reason, INDENT, "yellow", "yellow")
        return
    if not plan.holders:
        print_field(console, "processes", "none holds /dev/nvidia*", INDENT)
        return
    rows = [
        (str(holder.pid), holder.user, holder.command, plan.name_holder_pod(holder) or "outside of pods")
        for holder in plan.holders
    ]
    console.print()
    console.print(draw_table(console, ("PID ON /dev/nvidia*", "USER", "COMMAND", "POD"), rows))
    outside_count = sum(not holder.pod_uid for holder in plan.holders)
    if outside_count:
        print_text(console, f"outside of pods: {outside_count}; a drain does not end these processes", "yellow")


def print_modules(console: Terminal, plan: DrainPlan) -> None:
    """Print the modules of the kernel that hold the driver. Each use has to end before the driver can be unloaded."""
    if plan.modules is None:
        reason = f"which modules hold the driver is unknown: {plan.unknown_modules_reason}"
        print_field(console, "unknown", reason, INDENT, "yellow", "yellow")
        return
    if not plan.modules:
        print_field(console, "modules", "the driver is not loaded", INDENT)
        return
    console.print()
    rows = [
        (module.name, str(module.uses), ", ".join(module.users) or "-", str(module.unnamed_uses or "-"))
        for module in plan.modules
    ]
    console.print(draw_table(console, ("MODULE", "USES", "BY MODULES", "BY OPEN FILES OR THE KERNEL"), rows))


def render_drain(console: Terminal, drain: DrainResult, evidence: str = "") -> None:
    console.hide_secrets(drain.plan.snapshot.inventory)
    if drain.only_checked:
        render_plan(console, drain.plan)
        refused_pods = drain.plan.select("refused")
        text = f"{format_count(len(refused_pods), 'pod')} refused" if refused_pods else "it can be drained"
        print_text(console, f"\nchecked only, nothing was changed: {text}", "" if refused_pods else "green")
        return
    for remaining_pod in drain.remaining_pods:
        print_field(console, "remains", f"{remaining_pod.resident.pod.full_name}: {remaining_pod.reason}", INDENT)
    if drain.stop_reason:
        print_text(console, f"\nstopped: {drain.stop_reason}", "red")
    code = drain.exit_status
    print_text(console, f"\nnode {drain.plan.node.name}: {describe_end(drain)}", "" if code else "green")
    print_text(console, f"{CORDONS[drain.cordon]}; {format_duration(drain.seconds)}")
    if code and evidence:
        print_text(console, f"evidence: {evidence}")
    print_next_command(console, drain.next_command)


def describe_end(drain: DrainResult) -> str:
    if drain.unknown_reason:
        return f"which pods are left is unknown: {drain.unknown_reason}"
    if drain.remaining_pods:
        return f"{format_count(len(drain.remaining_pods), 'pod')} did not leave"
    return "drained" if drain.plan.select("leaves") else "nothing was left to drain"


def render_uncordon(console: Terminal, uncordon: UncordonResult) -> None:
    state = "uncordoned" if uncordon.changed else "it was not cordoned, nothing to do"
    print_text(console, f"node {uncordon.node.name}: {state}", "green")
