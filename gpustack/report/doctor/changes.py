"""Changes since the last diagnosis, for `gpustack doctor --watch`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from gpustack.doctor.graph import load_graph
from gpustack.doctor.watch import Change, build_state_id, find_root_kind
from gpustack.report.doctor.format import format_summary
from gpustack.report.doctor.text import print_root_cause, print_state, print_symptom
from gpustack.report.format import format_locations

if TYPE_CHECKING:
    from gpustack.doctor.finding import Diagnosis
    from gpustack.report.terminal import Terminal

KINDS = {
    "root": "root cause",
    "risk": "risk",
    "note": "note",
    "unexplained": "unexplained",
    "broken": "broken",
    "drift": "drift",
    "unknown": "unknown checks",
}
STYLES = {"new": "red", "resolved": "green", "changed": "yellow"}


def print_changes(
    console: "Terminal", diagnosis: "Diagnosis", changes: Sequence[Change], *, verbose: bool = False
) -> None:
    """Print one line per change, and then each new finding in full."""
    console.hide_secrets(diagnosis.snapshot.inventory)
    console.print(
        Text(f"\n{diagnosis.snapshot.started_at:%Y-%m-%d %H:%M:%S %Z}: {format_summary(diagnosis)}", "bold"),
        soft_wrap=True,
    )
    for change in changes:
        console.print(
            Text.assemble("  ", (f"{change.turn:<10}", STYLES[change.turn]), console.clean(describe_change(change))),
            soft_wrap=True,
        )
    new_findings = {(change.line.kind, change.line.id) for change in changes if change.turn == "new"}
    for root in diagnosis.roots:
        if (find_root_kind(root), root.id) in new_findings:
            print_root_cause(console, root, verbose=verbose)
    for symptom in diagnosis.unexplained_symptoms:
        if ("unexplained", symptom.id) in new_findings:
            print_symptom(console, symptom, diagnosis, verbose=verbose)
    for state in diagnosis.broken_states:
        if ("broken", build_state_id(state)) in new_findings:
            print_state(console, state, diagnosis, verbose=verbose)
    if diagnosis.healthy:
        console.print(Text("healthy", "green"))


def describe_change(change: Change) -> str:
    line = change.line
    if line.kind == "unknown":
        return f"{KINDS[line.kind]} on {format_locations(line.locations)}"
    title = f": {load_graph()[line.id].title}" if line.id in load_graph() else ""
    detail = f" ({line.detail})" if line.detail else ""
    return f"{KINDS[line.kind]} {line.id} on {format_locations(line.locations)}{title}{detail}"
