"""A proof for people: the links of each GPU, and why a link does not hold."""

from collections.abc import Sequence
from itertools import groupby

from rich.text import Text

from gpustack.config.inventory import Inventory
from gpustack.events import format_count
from gpustack.proof.chain import LINKS, Outcome, Row
from gpustack.proof.prove import Proof
from gpustack.report.findings import print_field, print_text
from gpustack.report.format import format_locations
from gpustack.report.human import print_next_command
from gpustack.report.terminal import Terminal
from gpustack.times import format_duration

MARKS: dict[Outcome, str] = {"ok": "✓", "failed": "✗", "unknown": "unknown", "skipped": "in use"}
ASCII_MARKS: dict[Outcome, str] = {**MARKS, "ok": "yes", "failed": "NO"}
STYLES: dict[Outcome, str] = {"ok": "green", "failed": "red", "unknown": "yellow", "skipped": "dim"}
WIDTH = 11
INDENT = 11
"""Reasons begin behind the name of their link."""


def render_human(console: Terminal, proof: Proof, inventory: Inventory, evidence: str = "") -> None:
    console.hide_secrets(inventory)
    code = proof.exit_status
    if proof.removed_pods:
        print_text(
            console, f"{format_count(proof.removed_pods, 'pod')} of an interrupted earlier proof were removed", "dim"
        )
    for node, rows in groupby(proof.rows, key=lambda row: row.node):
        print_node(console, node, list(rows))
    print_reasons(console, proof)
    for host, reason in proof.skipped_hosts:
        print_field(console, "not asked", f"{host}: {reason}", INDENT, label="yellow")
    if proof.stop_reason:
        print_text(console, f"\nstopped: {proof.stop_reason}", "red")
    if proof.remaining:
        print_text(console, f"\nleft behind: {proof.remaining}", "red")
    for warning in proof.warnings:
        print_text(console, f"\n{warning}", "yellow")
    print_text(console, f"\n{describe_state(proof)}", "" if code else "green")
    if proof.parts:
        parts = ", ".join(f"{part} {format_duration(seconds)}" for part, seconds in proof.parts)
        print_text(console, f"{format_duration(proof.seconds)}: {parts}")
    if code and evidence:
        print_text(console, f"evidence: {evidence}")
    print_next_command(console, proof.suggest_command(inventory))


def print_node(console: Terminal, node: str, rows: Sequence[Row]) -> None:
    models = list(dict.fromkeys(row.model for row in rows if row.model))
    print_text(console, f"\n{node}  {', '.join(models)}".rstrip(), "bold")
    marks = MARKS if console.encoding.lower().startswith("utf") else ASCII_MARKS
    heads = "".join(f"{name:<{WIDTH}}" for name in LINKS)
    console.print(Text(f"  {'gpu':<5}{'uuid':<42}{heads}".rstrip(), style="dim"), soft_wrap=True)
    for row in rows:
        cells = [(f"{marks[link.outcome]:<{WIDTH}}", STYLES[link.outcome]) for _, link in row.links]
        index, uuid = console.clean(row.index) or "-", console.clean(row.uuid or row.bus) or "unknown"
        line = Text.assemble(f"  {index:<5}{uuid:<42}", *cells)
        line.rstrip()
        console.print(line, soft_wrap=True)


def print_reasons(console: Terminal, proof: Proof) -> None:
    """Print each reason once, with its GPUs."""
    gpus_by_reason: dict[tuple[str, str, Outcome], list[str]] = {}
    for row in proof.rows:
        for name, link in row.links if row.uuid else row.links[:1]:  # Without a UUID the other links were not checked.
            if text := link.reason or link.note:
                gpus_by_reason.setdefault((name, text, link.outcome), []).append(format_gpu(row))
    if gpus_by_reason:
        console.print()
    for (name, text, outcome), gpus in gpus_by_reason.items():
        label = STYLES[outcome] if outcome != "ok" else "dim"
        print_field(console, name, f"{format_locations(gpus)}: {text}", INDENT, label=label)


def format_gpu(row: Row) -> str:
    return f"{row.node} {row.index or row.bus}".rstrip()


def describe_state(proof: Proof) -> str:
    """Describe the result of all GPUs in one line."""
    if not proof.rows:
        if proof.skipped_hosts:
            return "no GPU was found, and not all hosts could be asked"
        return f"no GPU: nothing to prove (0 NVIDIA devices on {format_count(proof.hosts, 'host')}, 0 offered by nodes)"
    kinds = [select_worst_outcome(row) for row in proof.rows]
    total = f"{format_count(len(proof.rows), 'GPU')} on {format_count(len({row.node for row in proof.rows}), 'node')}"
    if set(kinds) == {"ok"}:
        return f"{total}: all proven"
    words = {"ok": "proven", "failed": "failed", "unknown": "unknown", "skipped": "in use and left alone"}
    return (
        f"{total}: {', '.join(f'{kinds.count(outcome)} {word}' for outcome, word in words.items() if outcome in kinds)}"
    )


def select_worst_outcome(row: Row) -> Outcome:
    """Select the worst outcome among the links of a GPU."""
    outcomes = {link.outcome for _, link in row.links}
    return next(outcome for outcome in ("failed", "unknown", "skipped", "ok") if outcome in outcomes)
