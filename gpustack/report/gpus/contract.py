"""The contract of an exporter, checked: as text, as a JSON document and as JUnit."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.events import format_count
from gpustack.gpus.contract import Contract, Outcome
from gpustack.report.document import render_result
from gpustack.report.format import format_locations
from gpustack.report.junit import add_result, build_entry, build_suite, render_junit_document
from gpustack.report.renderings import CONTRACT
from gpustack.report.schema import Document, Shape, TextOrNull, take
from gpustack.report.terminal import Terminal


def render_human(console: Terminal, contract: Contract) -> None:
    gpus = format_count(contract.gpus, "GPU")
    console.print(console.clean(f"{contract.url}: {format_count(contract.families, 'metric')}, {gpus}"))
    for verdict in contract.verdicts:
        console.print(console.clean(f"  {verdict.outcome:8} {verdict.check:11} {verdict.message}"))
        if verdict.names:
            console.print(console.clean(f"                       {format_locations(verdict.names)}"))


class VerdictRow(Shape):
    """Describe the verdict of a check."""

    check: str
    outcome: Outcome
    description: TextOrNull = take("message")
    names: list[str]


class ContractDocument(Document):
    """Describe the result of `gpustack gpu check-exporter`."""

    kind: Literal["gpustack/exporter/v1"] = Field("gpustack/exporter/v1", alias="schema")
    url: str
    metric_count: int = take("families")
    gpu_count: int = take("gpus")
    compliant: bool = take("kept")
    checks: list[VerdictRow] = take("verdicts")


def render_json(contract: Contract, *, inventory: Inventory | None = None) -> str:
    return render_result(CONTRACT, ContractDocument, contract, inventory)


def render_junit(contract: Contract, *, inventory: Inventory | None = None) -> str:
    """Render the verdicts as JUnit. A wrong one is a failure, an unknown one is an error."""
    entries = []
    for verdict in contract.verdicts:
        entry = build_entry("exporter", verdict.check, 0.0)
        if verdict.outcome != "ok":
            tag = "failure" if verdict.outcome == "wrong" else "error"
            add_result(entry, tag, verdict.message, verdict.outcome, "\n".join(verdict.names))
        entries.append(entry)
    return render_junit_document("gpustack gpu check-exporter", [build_suite(contract.url, entries)], 0.0, inventory)
