"""What is right and wrong of an exporter: as text, as a JSON document, as JUnit."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.events import count
from gpustack.gpus.contract import Contract, Outcome
from gpustack.report.codes import CHECKED, contract_code
from gpustack.report.document import document, ending
from gpustack.report.format import places
from gpustack.report.junit import add, entry_for, suite
from gpustack.report.junit import document as junit_document
from gpustack.report.schema import Document, Shape
from gpustack.report.terminal import Terminal


def contract(console: Terminal, found: Contract) -> None:
    gpus = count(found.gpus, "GPU")
    console.print(console.clean(f"{found.url}: {count(found.families, 'metric')}, {gpus}"))
    for one in found.verdicts:
        console.print(console.clean(f"  {one.outcome:8} {one.check:11} {one.about}"))
        if one.where:
            console.print(console.clean(f"                       {places(one.where)}"))


class VerdictRow(Shape):
    """`where` names metrics or GPUs."""

    check: str
    outcome: Outcome
    about: str
    where: list[str]


class ContractDocument(Document):
    """Result of `gpustack gpu check-exporter`."""

    kind: Literal["gpustack/exporter/v1"] = Field("gpustack/exporter/v1", alias="schema")
    url: str
    metrics: int
    gpus: int
    kept: bool
    verdicts: list[VerdictRow]


def text(found: Contract, *, inventory: Inventory | None = None) -> str:
    values = {**vars(found), "metrics": found.families, "kept": found.kept}
    return document(ContractDocument, {**values, "exit": ending(contract_code(found), CHECKED)}, inventory)


def cases(found: Contract, *, inventory: Inventory | None = None) -> str:
    """Wrong is a failure, unknown an error."""
    entries = []
    for one in found.verdicts:
        entry = entry_for("exporter", one.check, 0.0)
        if one.outcome != "ok":
            tag = "failure" if one.outcome == "wrong" else "error"
            add(entry, tag, one.about, one.outcome, "\n".join(one.where))
        entries.append(entry)
    return junit_document("gpustack gpu check-exporter", [suite(found.url, entries)], 0.0, inventory)
