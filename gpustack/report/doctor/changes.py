"""What changed since the diagnosis before, for whoever watches."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from gpustack.doctor.graph import graph
from gpustack.doctor.watch import Change
from gpustack.report.doctor.format import summed
from gpustack.report.doctor.text import finding, unexplained
from gpustack.report.format import places

if TYPE_CHECKING:
    from gpustack.doctor.finding import Diagnosis
    from gpustack.report.terminal import Terminal

KINDS = {
    "root": "root cause",
    "unexplained": "unexplained",
    "drift": "drift",
    "unknown": "unknown checks",
}
STYLES = {"new": "red", "resolved": "green", "changed": "yellow"}


def changes(console: "Terminal", now: "Diagnosis", changed: Sequence[Change], *, verbose: bool = False) -> None:
    """A line each; then what is new, in full."""
    console.hide(now.snapshot.inventory)
    console.print(Text(f"\n{now.snapshot.taken:%Y-%m-%d %H:%M:%S %Z}: {summed(now)}", "bold"), soft_wrap=True)
    for one in changed:
        console.print(
            Text.assemble("  ", (f"{one.turn:<10}", STYLES[one.turn]), console.clean(described(one))), soft_wrap=True
        )
    new = {(one.line.kind, one.line.id) for one in changed if one.turn == "new"}
    for root in now.roots:
        if ("root", root.id) in new:
            finding(console, root, now, verbose=verbose)
    for state in now.unexplained:
        if ("unexplained", state.id) in new:
            unexplained(console, state, verbose=verbose)
    if now.healthy:
        console.print(Text("healthy", "green"))


def described(change: Change) -> str:
    line = change.line
    if line.kind == "unknown":
        return f"{KINDS[line.kind]} on {places(line.locations)}"
    title = f": {graph()[line.id].title}" if line.id in graph() else ""
    how = f" ({line.how})" if line.how else ""
    return f"{KINDS[line.kind]} {line.id} on {places(line.locations)}{title}{how}"
