"""What is to be done on GPUs and what became of it: as text, and as a JSON document."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.gpus.engines.change import Changed, Preview
from gpustack.gpus.engines.endings import Ending, NodeEnding
from gpustack.gpus.engines.put_back import Outcome, PutBack
from gpustack.probes.gpu.temporary import KINDS, LOAD
from gpustack.report.codes import CHANGED, changed_code
from gpustack.report.document import document, ending
from gpustack.report.gpus.engines import TemporaryRow, unread
from gpustack.report.schema import Document, Folder, Shape, Stopped, TextOrNull, take
from gpustack.report.terminal import Terminal

MARKS = {"done": "✓", "left": "-", "refused": "✗", "unknown": "?"}
PUT_BACK = {
    "done": "put back, it was overdue",
    "left": "overdue, and left as it is",
    "refused": "overdue, and not put back",
    "unknown": "overdue, and perhaps not put back",
}


def preview(console: Terminal, found: Preview) -> None:
    """On the terminal of the question."""
    console.print(console.clean(f"{found.work.name}:"))
    for engine in found.engines.found:
        console.print(console.clean(f"  {engine.node}:"))
        console.print(console.clean(f"    {found.work.command(engine)}"), soft_wrap=True)
        for mark in found.marks:
            if mark.node == engine.node:
                console.print(console.clean(f"    {mark.described}"))
    unread(console, found.engines.unread)
    for note in found.work.notes:
        console.print(console.clean(f"  {note}"))
    if found.until and LOAD in found.work.kinds:
        latest = when(found.until)
        console.print(f"  It ends by itself, by {latest}; what a kill leaves is removed by the next such command then.")
    elif found.until:
        console.print(f"  It is put back by the next gpustack command on GPUs after {when(found.until)}.")


def when(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M UTC}"


def changed(console: Terminal, found: Changed, *, evidence: str = "") -> None:
    for back in found.put_back:
        console.print(line(console, f"{KINDS[back.what]}: {PUT_BACK[back.ending]}", back))
    for one in found.endings:
        console.print(line(console, found.work.name, one))
    if found.until:
        console.print(f"until {when(found.until)}")
    if evidence:
        console.print(console.clean(f"evidence: {evidence}"), soft_wrap=True)


def line(console: Terminal, name: str, one: NodeEnding | PutBack) -> str:
    return console.clean(f"{MARKS[one.ending]} {one.node}: {name}{f': {one.why}' if one.why else ''}")


class EndingRow(Shape):
    """`unknown`: no answer came, and it may have been done."""

    node: str
    ending: Ending
    reason: TextOrNull = take("why")


class PutBackRow(Shape):
    """`left`: somebody else has changed it since, and it stays. After `refused` and `unknown` it is tried again by the
    next command. `kind` is profiling, policy, power-limit or clocks."""

    node: str
    kind: str = take("what")
    ending: Outcome
    reason: TextOrNull = take("why")


class ChangeDocument(Document):
    """Result of a command that changes GPUs through their host engines. `until` is the deadline after which it is put
    back, `temporary` with what; `put_back` are overdue changes of earlier commands."""

    kind: Literal["gpustack/gpu-change/v1"] = Field("gpustack/gpu-change/v1", alias="schema")
    what: str
    until: Annotated[TextOrNull, Field(description="ISO 8601; null for what stays")]
    nodes: list[EndingRow]
    temporary: list[TemporaryRow]
    put_back: list[PutBackRow]
    stopped: Stopped
    evidence: Folder


def text(found: Changed, *, inventory: Inventory | None = None, evidence: str = "") -> str:
    values = {
        "what": found.work.name,
        "until": found.until.isoformat(timespec="seconds") if found.until else "",
        "nodes": found.endings,
        "temporary": found.marks,
        "put_back": found.put_back,
        "stopped": found.stopped,
        "evidence": evidence,
        "exit": ending(changed_code(found), CHANGED),
    }
    return document(ChangeDocument, values, inventory)
