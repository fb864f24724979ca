"""Findings for people, in three columns: kind, text, places; with what to type, and what it rests on."""

from collections.abc import Sequence
from itertools import groupby, zip_longest
from textwrap import wrap

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpustack.ask.view import Evidence
from gpustack.command import Hint
from gpustack.events import count
from gpustack.report.format import OLDER, place, places
from gpustack.report.grouping import Kind, Line, lines, newer
from gpustack.report.terminal import Terminal
from gpustack.rollout.plan import Plan

STYLES: dict[Kind, str] = {
    "differs": "red",
    "upgrade": "magenta",
    "manual": "magenta",
    "unknown": "yellow",
    "pending": "dim",
    "ok": "green",
}
SHOWN_LINES = 12
INDENT = 15
"""Of the texts of findings: behind their kind."""


def body(console: Terminal, found: Plan, *, verbose: bool) -> None:
    if found.unreached:
        say(console, "\nnot reached", "bold")
    for name in found.unreached:
        reach = found.snapshot.reach[name]
        grid(console, [(name, f"{reach.why} ({reach.reference})")], "yellow")
        typed(console, reach.hint, len(name) + 4)
    shown_lines = joined(lines(found, holding=verbose))
    width = min(24, max((len(places(line.locations)) for line in shown_lines), default=0))
    for step, some in groupby(shown_lines, key=lambda line: line.step):
        say(console, f"\n{step}", "bold")
        for line in some:
            finding(console, line, width)
            for entry in line.evidence if verbose and line.kind != "ok" else ():
                witness(console, entry)
    if number := sum(newer(one) for state in found.states for one in state.judgements):
        say(console, f"\n{count(number, 'check')} unknown: {OLDER}", "yellow")


def joined(shown_lines: Sequence[Line]) -> list[Line]:
    """What holds in a step at the same places is one line, behind what does not."""
    found: list[Line] = []
    for step, some in groupby(shown_lines, key=lambda line: line.step):
        holding: dict[tuple[str, ...], list[str]] = {}
        for line in some:
            if line.kind == "ok":
                holding.setdefault(line.locations, []).append(line.text)
            else:
                found.append(line)
        found += [Line(step, "ok", ", ".join(names), locations) for locations, names in holding.items()]
    return found


def finding(console: Terminal, line: Line, width: int) -> None:
    """Three columns: kind, text, places."""
    room = max(console.width - INDENT - width - 2, 20)
    texts = wrapped(console.clean(line.text), room)
    rows = zip_longest(texts, wrapped(places(line.locations), width), fillvalue="")
    for number, (text, where) in enumerate(rows):
        kind = line.kind if number == 0 else ""
        row = Text.assemble("  ", (f"{kind:<13}", STYLES[line.kind]), f"{text:<{room + 2}}", (where, "dim"))
        row.rstrip()
        console.print(row, soft_wrap=True)
    typed(console, line.hint, INDENT)


def witness(console: Terminal, entry: Evidence) -> None:
    """The command behind a finding, whole, and its output."""
    answer = entry.answer
    script = entry.command.strip().splitlines() or [""]
    output = [line for line in console.clean(answer.out + answer.err).splitlines() if line.strip()]
    more = [f"… {len(output) - SHOWN_LINES} lines more (-o json has all)"] if len(output) > SHOWN_LINES else []
    lost = [f"(no answer: {console.clean(answer.lost)})"] if answer.lost else []
    ended = [f"(ended with {answer.rc})"] if answer.rc and not lost else []
    shown = [
        part for line in (*output[:SHOWN_LINES], *more, *lost, *ended) for part in wrapped(line, console.width - INDENT)
    ]
    verbatim(console, "\n".join([f"{place(answer.where)} $ {script[0]}", *script[1:], *shown]), INDENT, "dim")


def wrapped(text: str, width: int) -> list[str]:
    return [part for line in text.splitlines() for part in wrap(line, width, break_on_hyphens=False)]


def field(console: Terminal, name: str, text: str, width: int, style: str = "", label: str = "dim") -> None:
    """A name, and behind it a text in a column of its own."""
    for number, line in enumerate(wrapped(console.clean(text), max(console.width - width, 40)) or [""]):
        row = Text.assemble((f"{console.clean(name) if number == 0 else '':<{width}}", label), (line, style))
        row.rstrip()
        console.print(row, soft_wrap=True)


def grid(console: Terminal, rows: Sequence[tuple[str, str]], style: str = "dim") -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(Text(name, style=style), Text(console.clean(text)))
    console.print(Padding(table, (0, 0, 0, 2)))


def say(console: Terminal, text: str, style: str = "") -> None:
    """Further lines are set in: none of a host's passes for one of ours. A newline before all is a space between."""
    if text.startswith("\n"):
        console.print()
    text = console.clean(text)
    console.print(Text(text.strip("\n").replace("\n", "\n  "), style=style))


def typed(console: Terminal, command: Hint, indent: int, style: str = "cyan") -> None:
    """Print something to type. It is never wrapped by us: it is copied whole."""
    verbatim(console, command, indent, style)


def verbatim(console: Terminal, text: str, indent: int, style: str = "") -> None:
    """Print a text line by line as it is, without wrapping: an answer of a host, or what was changed there."""
    for line in console.clean(text).splitlines():
        console.print(Text(f"{'':{indent}}{line}", style=style), soft_wrap=True)
