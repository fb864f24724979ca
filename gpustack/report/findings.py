"""Findings for people in three columns (kind, text, locations), with hints and evidence."""

from collections.abc import Sequence
from itertools import groupby, zip_longest
from textwrap import wrap

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpustack.ask.probe import Evidence
from gpustack.command import Hint
from gpustack.events import format_count
from gpustack.report.evidence import choose_command
from gpustack.report.format import NOT_RECORDED, format_location, format_locations
from gpustack.report.grouping import Kind, Line, is_newer, list_lines
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
MAX_LINES = 12
INDENT = 15
"""Texts of findings begin behind their kind."""


def print_findings(console: Terminal, plan: Plan, *, verbose: bool) -> None:
    if plan.unreachable_hosts:
        print_text(console, "\nnot reached", "bold")
    for name in plan.unreachable_hosts:
        reach = plan.snapshot.reach[name]
        print_grid(console, [(name, f"{reach.reason} ({reach.reference})")], "yellow")
        print_command(console, reach.hint, len(name) + 4)
    lines = merge_ok_lines(list_lines(plan, holding=verbose))
    shown_commands: set[str] = set()
    width = min(24, max((len(format_locations(line.locations)) for line in lines), default=0))
    for step, step_lines in groupby(lines, key=lambda line: line.step):
        print_text(console, f"\n{step}", "bold")
        for line in step_lines:
            print_finding(console, line, width)
            for entry in line.evidence if verbose and line.kind != "ok" else ():
                print_evidence(console, entry, shown_commands)
    if number := sum(is_newer(judgement) for state in plan.states for judgement in state.judgements):
        print_text(console, f"\n{format_count(number, 'check')} unknown: {NOT_RECORDED}", "yellow")


def merge_ok_lines(lines: Sequence[Line]) -> list[Line]:
    """Merge the checks of a step that are ok at the same locations into one line behind its other lines."""
    merged_lines: list[Line] = []
    for step, step_lines in groupby(lines, key=lambda line: line.step):
        ok_checks: dict[tuple[str, ...], list[str]] = {}
        for line in step_lines:
            if line.kind == "ok":
                ok_checks.setdefault(line.locations, []).append(line.text)
            else:
                merged_lines.append(line)
        merged_lines += [Line(step, "ok", ", ".join(names), locations) for locations, names in ok_checks.items()]
    return merged_lines


def print_finding(console: Terminal, line: Line, width: int) -> None:
    """Print a finding in three columns: kind, text and locations."""
    room = max(console.width - INDENT - width - 2, 20)
    texts = wrap_text(console.clean(line.text), room)
    rows = zip_longest(texts, wrap_text(format_locations(line.locations), width), fillvalue="")
    for number, (text, location) in enumerate(rows):
        kind = line.kind if number == 0 else ""
        row = Text.assemble("  ", (f"{kind:<13}", STYLES[line.kind]), f"{text:<{room + 2}}", (location, "dim"))
        row.rstrip()
        console.print(row, soft_wrap=True)
    print_command(console, line.hint, INDENT)


def print_evidence(console: Terminal, entry: Evidence, shown_commands: set[str]) -> None:
    """Print the command behind a finding as a person would type it, and its output. A command that was shown before is
    not repeated."""
    answer, command = entry.answer, choose_command(entry)
    script = ["(the same command)"] if command in shown_commands else command.splitlines() or [""]
    shown_commands.add(command)
    output = [line for line in console.clean(answer.stdout + answer.stderr).splitlines() if line.strip()]
    remainder = [f"… {len(output) - MAX_LINES} lines more (-o json has all)"] if len(output) > MAX_LINES else []
    loss_notes = [f"(no answer: {console.clean(answer.missing_reason)})"] if answer.missing_reason else []
    exit_notes = [f"(ended with {answer.rc})"] if answer.rc and not loss_notes else []
    lines = [
        part
        for line in (*output[:MAX_LINES], *remainder, *loss_notes, *exit_notes)
        for part in wrap_text(line, console.width - INDENT)
    ]
    print_unwrapped(
        console, "\n".join([f"{format_location(answer.location)} $ {script[0]}", *script[1:], *lines]), INDENT, "dim"
    )


def wrap_text(text: str, width: int) -> list[str]:
    return [part for line in text.splitlines() for part in wrap(line, width, break_on_hyphens=False)]


def print_field(console: Terminal, name: str, text: str, width: int, style: str = "", label: str = "dim") -> None:
    """Print a name and, in a column of its own, a text."""
    for number, line in enumerate(wrap_text(console.clean(text), max(console.width - width, 40)) or [""]):
        row = Text.assemble((f"{console.clean(name) if number == 0 else '':<{width}}", label), (line, style))
        row.rstrip()
        console.print(row, soft_wrap=True)


def print_grid(console: Terminal, rows: Sequence[tuple[str, str]], style: str = "dim") -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(Text(name, style=style), Text(console.clean(text)))
    console.print(Padding(table, (0, 0, 0, 2)))


def print_text(console: Terminal, text: str, style: str = "") -> None:
    """Print a text whose further lines are indented, so that no line from a host looks like one of gpustack. A
    newline at its beginning prints an empty line."""
    if text.startswith("\n"):
        console.print()
    for line in console.clean(text).strip("\n").replace("\n", "\n  ").split("\n"):
        for part in wrap_text(line, console.width) or [""]:
            console.print(Text(part, style=style), soft_wrap=True)


def print_command(console: Terminal, command: Hint, indent: int, style: str = "cyan") -> None:
    """Print a command to type. It is never wrapped, because people copy it."""
    print_unwrapped(console, command, indent, style)


def print_unwrapped(console: Terminal, text: str, indent: int, style: str = "") -> None:
    """Print a text line by line without wrapping, such as an answer of a host."""
    for line in console.clean(text).splitlines():
        console.print(Text(f"{'':{indent}}{line}", style=style), soft_wrap=True)
