"""DCGM's diagnostic of GPUs, as text, as a JSON document and as JUnit."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.engines.diagnostic import Diagnostic, Outcome, Verdict
from gpustack.events import format_count
from gpustack.report.document import render_result
from gpustack.report.gpus.engines import UnreadNodes, print_unread_nodes
from gpustack.report.junit import add_output, add_result, build_entry, build_suite, render_junit_document
from gpustack.report.renderings import DIAGNOSTIC
from gpustack.report.schema import Document, Seconds, Shape, TextOrNull, take
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal
from gpustack.times import format_duration

HEADINGS = ("NODE", "TEST", "ON", "OUTCOME", "WHY")


def render_human(console: Terminal, diagnostic: Diagnostic, *, verbose: bool = False, evidence: str = "") -> None:
    """Print the results of a diagnostic. Tests that passed are counted; with `verbose`, or with warnings, they are
    listed."""
    verdicts = [verdict for verdict in diagnostic.verdicts if verbose or verdict.outcome != "passed" or verdict.reasons]
    if verdicts:
        console.print(draw_table(console, HEADINGS, map(format_cells, verdicts)))
    for node, version in diagnostic.versions.items():
        console.print(console.clean(f"{node}: {format_summary(diagnostic, node)} ({version})"))
    for node in diagnostic.unproven_nodes:
        console.print(console.clean(f"unknown: {node}: no test passed, and a skipped test does not count as passed"))
    print_unread_nodes(console, diagnostic.unread)
    console.print(f"level {diagnostic.level}, {format_duration(diagnostic.seconds)}")
    if diagnostic.stop_reason:
        console.print(console.clean(f"ended early: {diagnostic.stop_reason}"))
    if evidence:
        console.print(console.clean(f"evidence: {evidence}"), soft_wrap=True)


def format_cells(verdict: Verdict) -> tuple[str, ...]:
    return (
        verdict.node,
        f"{verdict.category}: {verdict.test}",
        verdict.entity or "node",
        verdict.outcome,
        "; ".join(verdict.reasons),
    )


def format_summary(diagnostic: Diagnostic, node: str) -> str:
    outcomes: tuple[Outcome, ...] = ("failed", "skipped", "unknown")
    words = [f"{number} {outcome}" for outcome in outcomes if (number := diagnostic.count(outcome, node))]
    return ", ".join([f"{format_count(diagnostic.count('passed', node), 'result')} passed", *words])


class VerdictRow(Shape):
    """Describe the result of a test. Its reasons are in DCGM's words."""

    node: str
    category: str
    test: str
    entity: str
    outcome: Outcome
    reasons: list[str]


class DiagnosticDocument(Document):
    """Describe the result of `gpustack gpu diag`."""

    kind: Literal["gpustack/gpu-diag/v1"] = Field("gpustack/gpu-diag/v1", alias="schema")
    level: int
    seconds: Seconds
    stop_reason: TextOrNull
    evidence_directory: TextOrNull
    tests: list[VerdictRow] = take("verdicts")
    versions: dict[str, str]
    unproven_nodes: list[str]
    unreachable_nodes: UnreadNodes = take("unread")


def render_json(diagnostic: Diagnostic, *, inventory: Inventory | None = None, evidence: str = "") -> str:
    return render_result(DIAGNOSTIC, DiagnosticDocument, diagnostic, inventory, evidence_directory=evidence)


def render_junit(diagnostic: Diagnostic, *, inventory: Inventory | None = None) -> str:
    """Render a suite for each node. An unknown result is an error, a skipped test is skipped, and the warnings of a
    passed test are its output."""
    suites = []
    for node in dict.fromkeys([*diagnostic.versions, *diagnostic.unread]):
        entries = []
        for verdict in (candidate for candidate in diagnostic.verdicts if candidate.node == node):
            entry = build_entry(f"{verdict.category}.{verdict.test}", verdict.entity or node, 0.0)
            tags = {"failed": "failure", "skipped": "skipped", "unknown": "error"}
            if tag := tags.get(verdict.outcome):
                add_result(entry, tag, "; ".join(verdict.reasons), verdict.outcome)
            elif verdict.reasons:
                add_output(entry, "\n".join(verdict.reasons))
            entries.append(entry)
        if reason := diagnostic.unread.get(node) or ("no test passed" if node in diagnostic.unproven_nodes else ""):
            entry = build_entry("diag", node, 0.0)
            add_result(entry, "error", reason, "unknown")
            entries.append(entry)
        suites.append(build_suite(node, entries))
    return render_junit_document("gpustack gpu diag", suites, diagnostic.seconds, inventory)
