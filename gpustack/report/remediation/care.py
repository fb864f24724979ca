"""Render one round of `gpustack care` for people and for programs."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.events import format_count
from gpustack.health.sign import Verdict
from gpustack.remediation.care_round import CareEntry, CareRound
from gpustack.remediation.result import Outcome
from gpustack.remediation.rungs import RungId
from gpustack.report.document import render_result
from gpustack.report.findings import print_text
from gpustack.report.hanging import print_notes
from gpustack.report.human import print_next_command
from gpustack.report.remediation.renderings import CARE
from gpustack.report.remediation.text import STYLES
from gpustack.report.schema import Document, Shape, TextOrNull
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal

CHECK_NOTE = "checked only, nothing was changed: --check was given, or the spec lacks care.cordon: true"
HEADINGS = ("NODE", "VERDICT", "CORDON", "WHY")


class CareRow(Shape):
    """Describe a node whose verdict asks for an act. `health` and `rung` are null where the node could not be read, and
    `rung` also where no rung is left."""

    node: str
    health: Verdict | None
    rung: RungId | None
    outcome: Outcome
    reason: TextOrNull


class CareDocument(Document):
    """Describe the result of `gpustack care`."""

    kind: Literal["gpustack/care/v1"] = Field("gpustack/care/v1", alias="schema")
    nodes: list[CareRow]
    unknown_nodes: list[str]
    warnings: list[str]
    only_checked: bool
    evidence_directory: TextOrNull


def render_human(console: Terminal, care: CareRound, evidence: str = "") -> None:
    if care.entries:
        console.print(draw_table(console, HEADINGS, map(list_cells, care.entries)))
    else:
        print_text(console, "no node asks for an act")
    print_notes(console, care.warnings)
    for node in care.unknown_nodes:
        print_text(console, f"unknown  the verdict on node {node}", "yellow")
    cordoned_count = sum(entry.outcome == "done" for entry in care.entries)
    summary = CHECK_NOTE if care.only_checked else f"{format_count(cordoned_count, 'node')} cordoned"
    print_text(console, summary, STYLES["done"] if cordoned_count else "")
    if care.exit_status and evidence:
        print_text(console, f"evidence: {evidence}")
    if ladder := next((entry.ladder for entry in care.entries if entry.ladder), None):
        print_next_command(console, ladder.case.check_command)


def list_cells(entry: CareEntry) -> tuple[str, ...]:
    verdict = entry.ladder.case.verdict if entry.ladder else "unknown"
    outcome = "-" if entry.outcome == "none" else entry.outcome
    return entry.node, verdict, outcome, entry.reason or "-"


def render_json(care: CareRound, *, inventory: Inventory | None = None, evidence: str = "") -> str:
    rows = [
        {
            "node": entry.node,
            "health": entry.ladder.case.verdict if entry.ladder else None,
            "rung": entry.ladder.next_rung.id if entry.ladder and entry.ladder.next_rung else None,
            "outcome": entry.outcome,
            "reason": entry.reason,
        }
        for entry in care.entries
    ]
    return render_result(CARE, CareDocument, care, inventory, nodes=rows, evidence_directory=evidence)
