"""The result of `gpustack config validate`."""

from typing import Literal

from pydantic import Field

from gpustack.config.validity import ValidInventory
from gpustack.report.document import render_result
from gpustack.report.findings import print_text
from gpustack.report.hanging import print_notes
from gpustack.report.renderings import VALID_INVENTORY
from gpustack.report.schema import Document, Shape, TextOrNull
from gpustack.report.terminal import Terminal


class HostShape(Shape):
    """Describe a host of the inventory."""

    name: str
    address: str


class ValidInventoryDocument(Document):
    """Describe the result of `gpustack config validate` for a valid inventory. Of another one, `gpustack/error/v1` has
    every mistake in `reasons`."""

    kind: Literal["gpustack/valid-inventory/v1"] = Field("gpustack/valid-inventory/v1", alias="schema")
    inventory: TextOrNull
    hosts: list[HostShape]
    notes: list[str]


def render_human(console: Terminal, result: ValidInventory) -> None:
    names = ", ".join(host.name for host in result.hosts)
    print_text(console, f"valid: {result.inventory.summary} ({names})")
    print_notes(console, result.notes)


def render_json(result: ValidInventory) -> str:
    source = str(result.source) if result.source else None
    return render_result(VALID_INVENTORY, ValidInventoryDocument, result, result.inventory, inventory=source)
