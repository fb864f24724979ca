"""Changes of GPUs through their host engines, as text and as a JSON document: the preview and the results."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.engines.change import ChangeResult, Preview
from gpustack.engines.endings import Ending, NodeEnding
from gpustack.engines.revert import Outcome, Revert
from gpustack.probes.gpu.temporary_changes import KINDS, LOAD
from gpustack.report.document import render_result
from gpustack.report.gpus.engines import TemporaryRow, print_unread_nodes
from gpustack.report.renderings import CHANGE
from gpustack.report.schema import Document, Shape, TextOrNull, TimeOrNull, take
from gpustack.report.terminal import Terminal

MARKS = {"done": "✓", "left": "-", "refused": "✗", "unknown": "?"}
REVERT_TEXTS = {
    "done": "put back, it was overdue",
    "left": "overdue, and left as it is",
    "refused": "overdue, and not put back",
    "unknown": "overdue, and perhaps not put back",
}


def render_preview(console: Terminal, preview: Preview) -> None:
    """Print the commands of a change on the terminal before the question whether to run them."""
    console.print(console.clean(f"{preview.operation.name}:"))
    for engine in preview.engines.members:
        console.print(console.clean(f"  {engine.node}:"))
        console.print(console.clean(f"    {preview.operation.build_command(engine)}"), soft_wrap=True)
        for mark in preview.marks:
            if mark.node == engine.node:
                console.print(console.clean(f"    {mark.description}"))
    print_unread_nodes(console, preview.engines.unread)
    for note in preview.operation.notes:
        console.print(console.clean(f"  {note}"))
    if preview.deadline and LOAD in preview.operation.kinds:
        latest = format_time(preview.deadline)
        console.print(f"  It ends by itself, by {latest}; what a kill leaves is removed by the next such command then.")
    elif preview.deadline:
        console.print(f"  It is put back by the next gpustack command on GPUs after {format_time(preview.deadline)}.")


def format_time(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M UTC}"


def render_human(console: Terminal, change_result: ChangeResult, *, evidence: str = "") -> None:
    for revert in change_result.reverts:
        console.print(format_ending(console, f"{KINDS[revert.kind]}: {REVERT_TEXTS[revert.ending]}", revert))
    for ending in change_result.endings:
        console.print(format_ending(console, change_result.operation.name, ending))
    if change_result.deadline:
        console.print(f"until {format_time(change_result.deadline)}")
    if evidence:
        console.print(console.clean(f"evidence: {evidence}"), soft_wrap=True)


def format_ending(console: Terminal, name: str, ending: NodeEnding | Revert) -> str:
    return console.clean(f"{MARKS[ending.ending]} {ending.node}: {name}{f': {ending.reason}' if ending.reason else ''}")


class EndingRow(Shape):
    """Describe the result on a node. `unknown` says that no answer came and that the change may have been made."""

    node: str
    outcome: Ending = take("ending")
    reason: TextOrNull


class RevertRow(Shape):
    """Describe how an overdue change was reverted. `left` says that somebody else has changed it since, so that it
    stays. After `refused` and `unknown` the next command tries again."""

    node: str
    kind: str
    outcome: Outcome = take("ending")
    reason: TextOrNull


class ChangeDocument(Document):
    """Describe the result of a command that changes GPUs through their host engines. `expires_at` is null for a
    change that stays."""

    kind: Literal["gpustack/gpu-change/v1"] = Field("gpustack/gpu-change/v1", alias="schema")
    operation: str = take("operation", "name")
    expires_at: TimeOrNull = take("deadline")
    nodes: list[EndingRow] = take("endings")
    temporary_changes: list[TemporaryRow] = take("marks")
    reverts: list[RevertRow]
    stop_reason: TextOrNull
    evidence_directory: TextOrNull


def render_json(change_result: ChangeResult, *, inventory: Inventory | None = None, evidence: str = "") -> str:
    return render_result(CHANGE, ChangeDocument, change_result, inventory, evidence_directory=evidence)
