"""DCGM's diagnostic of GPUs: as text, as a JSON document, as JUnit."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.events import count
from gpustack.gpus.engines.diagnostic import Diagnostic, Outcome, Verdict
from gpustack.report.codes import DIAGNOSTIC, diagnostic_code
from gpustack.report.document import document, ending
from gpustack.report.format import duration
from gpustack.report.gpus.engines import Unread, list_unread, unread
from gpustack.report.junit import add, entry_for, suite
from gpustack.report.junit import document as junit_document
from gpustack.report.schema import Document, Folder, Seconds, Shape, Stopped
from gpustack.report.table import draw
from gpustack.report.terminal import Terminal

HEADINGS = ("NODE", "TEST", "ON", "OUTCOME", "WHY")


def diagnostic(console: Terminal, found: Diagnostic, *, verbose: bool = False, evidence: str = "") -> None:
    """Tests that passed are counted; with -v they are listed."""
    shown = [one for one in found.verdicts if verbose or one.outcome != "passed"]
    if shown:
        console.print(draw(console, HEADINGS, map(cells, shown)))
    for node, version in found.versions.items():
        console.print(console.clean(f"{node}: {summary(found, node)} ({version})"))
    for node in found.unproven:
        console.print(console.clean(f"unknown: {node}: no test passed, and to skip is not to pass"))
    unread(console, found.unread)
    console.print(f"level {found.level}, {duration(found.seconds)}")
    if found.stopped:
        console.print(console.clean(f"ended early: {found.stopped}"))
    if evidence:
        console.print(console.clean(f"evidence: {evidence}"), soft_wrap=True)


def cells(one: Verdict) -> tuple[str, ...]:
    return one.node, f"{one.category}: {one.test}", one.entity or "node", one.outcome, "; ".join(one.why)


def summary(found: Diagnostic, node: str) -> str:
    outcomes: tuple[Outcome, ...] = ("failed", "skipped", "unknown")
    words = [f"{number} {outcome}" for outcome in outcomes if (number := found.count(outcome, node))]
    return ", ".join([f"{count(found.count('passed', node), 'result')} passed", *words])


class VerdictRow(Shape):
    """`entity` is the GPU as DCGM counts them, empty for the whole node; `why` are DCGM's words."""

    node: str
    category: str
    test: str
    entity: str
    outcome: Outcome
    why: list[str]


class DiagnosticDocument(Document):
    """Result of `gpustack gpu diag`. `unproven` are nodes on which no test passed."""

    kind: Literal["gpustack/gpu-diag/v1"] = Field("gpustack/gpu-diag/v1", alias="schema")
    level: int
    seconds: Seconds
    stopped: Stopped
    evidence: Folder
    verdicts: list[VerdictRow]
    versions: dict[str, str]
    unproven: list[str]
    unread: list[Unread]


def text(found: Diagnostic, *, inventory: Inventory | None = None, evidence: str = "") -> str:
    lists = {"unproven": found.unproven, "unread": list_unread(found.unread), "evidence": evidence}
    values = {**vars(found), **lists, "exit": ending(diagnostic_code(found), DIAGNOSTIC)}
    return document(DiagnosticDocument, values, inventory)


def cases(found: Diagnostic, *, inventory: Inventory | None = None) -> str:
    """A suite for each node; unknown is an error, and skipped is skipped."""
    suites = []
    for node in dict.fromkeys([*found.versions, *found.unread]):
        entries = []
        for one in (one for one in found.verdicts if one.node == node):
            entry = entry_for(f"{one.category}.{one.test}", one.entity or node, 0.0)
            tags = {"failed": "failure", "skipped": "skipped", "unknown": "error"}
            if tag := tags.get(one.outcome):
                add(entry, tag, "; ".join(one.why), one.outcome)
            entries.append(entry)
        if why := found.unread.get(node) or ("no test passed" if node in found.unproven else ""):
            entry = entry_for("diag", node, 0.0)
            add(entry, "error", why, "unknown")
            entries.append(entry)
        suites.append(suite(node, entries))
    return junit_document("gpustack gpu diag", suites, found.seconds, inventory)
