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
from gpustack.report.evidence import choose_command, is_document
from gpustack.report.format import NOT_RECORDED, cut, format_locations, split_long_words
from gpustack.report.grouping import Kind, Line, is_newer, list_lines
from gpustack.report.hanging import LEAST_WIDTH
from gpustack.report.terminal import Terminal
from gpustack.rollout.plan import Plan

STYLES: dict[Kind, str] = {
    "differs": "red",
    "upgrade": "magenta",
    "manual": "magenta",
    "unknown": "yellow",
    "pending": "dim",
    "note": "dim",
    "ok": "green",
}
MAX_LINES = 12
MAX_REPEATED = 60
INDENT = 15
"""Texts of findings begin behind their kind."""
LEAST_ROOM = 17
"""The least width of such a text: with locations of seven letters, it fills 40 columns."""


def print_findings(console: Terminal, plan: Plan, *, verbose: bool) -> None:
    if plan.unreachable_hosts:
        print_text(console, "\nunreachable", "bold")
    for name in plan.unreachable_hosts:
        reach = plan.snapshot.reach[name]
        print_grid(console, [(name, f"{reach.reason} ({reach.reference})")], "yellow")
        print_command(console, reach.hint, len(name) + 4)
    lines = merge_ok_lines(list_lines(plan, holding=verbose))
    shown_answers: set[tuple[str, str]] = set()
    longest = max((len(format_locations(line.locations)) for line in lines), default=0)
    width = min(24, longest, max(console.width - INDENT - LEAST_ROOM - 1, 7))
    for step, step_lines in groupby(lines, key=lambda line: line.step):
        print_text(console, f"\n{step}", "bold")
        for line in step_lines:
            print_finding(console, line, width)
            if verbose and line.kind not in ("note", "ok"):
                print_evidence(console, line.evidence, shown_answers)
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
    room = max(console.width - INDENT - width - 2, LEAST_ROOM)
    gap = min(2, max(1, console.width - INDENT - room - width))
    texts = wrap_text(console.clean(line.text), room)
    rows = zip_longest(texts, wrap_text(format_locations(line.locations), width), fillvalue="")
    for number, (text, location) in enumerate(rows):
        kind = line.kind if number == 0 else ""
        row = Text.assemble("  ", (f"{kind:<13}", STYLES[line.kind]), f"{text:<{room + gap}}", (location, "dim"))
        row.rstrip()
        console.print(row, soft_wrap=True)
    print_command(console, line.hint, INDENT)


def print_evidence(
    console: Terminal, evidence: Sequence[Evidence], shown_answers: set[tuple[str, str]] | None = None
) -> None:
    """Print each command behind a finding once, as a person would type it, and its output by location where that
    differs. Of what was shown before, only the first line of the command is repeated."""
    shown_answers = set() if shown_answers is None else shown_answers
    entries_by_command: dict[str, dict[str, Evidence]] = {}
    for entry in evidence:
        entries_by_command.setdefault(choose_command(entry), {})[entry.answer.location] = entry
    for command, entries in entries_by_command.items():
        is_shown = any(command == shown_command for shown_command, _ in shown_answers)
        new_entries = [entry for location, entry in entries.items() if (command, location) not in shown_answers]
        first_line, *script = command.splitlines() or [""]
        if is_shown:
            first_line, script = cut(first_line, MAX_REPEATED), []
        note = "" if new_entries else "    (as above)"
        header = f"{format_locations(list(entries))} $ {first_line}{note}"
        print_unwrapped(console, "\n".join([header, *script]), INDENT, "dim")
        locations_by_output: dict[tuple[str, ...], list[str]] = {}
        for entry in new_entries:
            shown_answers.add((command, entry.answer.location))
            locations_by_output.setdefault(tuple(format_output(console, entry)), []).append(entry.answer.location)
        for output, names in locations_by_output.items():
            heading = [f"{format_locations(names)}:"] if len(names) < len(entries) and output else []
            print_unwrapped(console, "\n".join([*heading, *output]), INDENT, "dim")


def format_output(console: Terminal, entry: Evidence) -> list[str]:
    """Format an answer: its first lines, and why it has no more. A document of JSON is only counted."""
    answer, text = entry.answer, console.clean(entry.answer.stdout + entry.answer.stderr)
    if is_document(entry):
        output = [f"(JSON, {len(answer.stdout):,} characters; -o json has more)"]
    else:
        lines = [line for line in text.splitlines() if line.strip()]
        remainder = [f"… {len(lines) - MAX_LINES} lines more (-o json has more)"] if len(lines) > MAX_LINES else []
        output = [*lines[:MAX_LINES], *remainder]
    loss_notes = [f"(no answer: {console.clean(answer.missing_reason)})"] if answer.missing_reason else []
    exit_notes = [f"(ended with {answer.rc})"] if answer.rc and not loss_notes else []
    lines = [*output, *loss_notes, *exit_notes]
    return [part for line in lines for part in wrap_text(line, console.width - INDENT)]


def wrap_text(text: str, width: int) -> list[str]:
    """Wrap each line of a text between words. A word that is longer than a line is split behind a slash or a mark."""
    lines = (split_long_words(line, width) for line in text.splitlines())
    return [part for line in lines for part in wrap(line, width, break_on_hyphens=False)]


def print_field(console: Terminal, name: str, text: str, width: int, style: str = "", label: str = "dim") -> None:
    """Print a name and, in a column of its own, a text."""
    for number, line in enumerate(wrap_text(console.clean(text), max(console.width - width, LEAST_WIDTH)) or [""]):
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
