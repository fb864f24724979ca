"""What host engines say, as a table for people and as one JSON document."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.gpus.engines.listings import About, Listing, Row
from gpustack.report.codes import LISTED, listing_code
from gpustack.report.document import document, ending
from gpustack.report.gpus.text import UNKNOWN
from gpustack.report.schema import Document, Shape, TextOrNull, take
from gpustack.report.table import draw
from gpustack.report.terminal import Terminal

EMPTY: Mapping[About, str] = {
    "groups": "no groups",
    "policies": "no policies: no engine names a GPU",
    "settings": "no settings: no engine names a GPU",
    "figures": "nothing is recorded",
    "violations": "no violation was reported",
    "samples": "no values: no engine names a GPU",
    "metrics": "no profiling metrics: these GPUs measure none, or the profiling module is not loaded",
}


def listing(console: Terminal, found: Listing) -> None:
    if found.rows:
        headings = [field.name.upper().replace("_", " ") for field in fields(found.rows[0])]
        console.print(draw(console, headings, map(cells, found.rows)))
    elif not found.unread:
        console.print(EMPTY[found.about])
    for mark in found.temporary:
        console.print(console.clean(f"{mark.node}: {mark.described}, by {mark.who}"))
    unread(console, found.unread)


def cells(row: Row) -> tuple[str, ...]:
    values = (getattr(row, field.name) for field in fields(row))
    return tuple((", ".join(value) if isinstance(value, tuple) else str(value)) or UNKNOWN for value in values)


def unread(console: Terminal, nodes: Mapping[str, str]) -> None:
    for node, why in nodes.items():
        console.print(console.clean(f"unknown: {node}: {why}"))


class GroupRow(Shape):
    """`entities` as DCGM names them: `GPU 0`."""

    node: str
    id: int
    name: str
    entities: list[str]


class PolicyRow(Shape):
    """`gpu` is DCGM's index. `conditions` are empty where there are none; a limit stands behind its condition."""

    node: str
    gpu: str
    conditions: list[str]
    action: str
    validation: str


class SettingRow(Shape):
    """What was set through the host engine and what is in force, in dcgmi's words; power in W, clocks in MHz."""

    node: str
    gpu: str
    model: str
    setting: str
    target: str
    current: str


class MetricGroupRow(Shape):
    """A profiling field of a node's first GPU. Groups of one letter are measured in turn."""

    node: str
    group: str
    field_id: int
    field: str


class FigureRow(Shape):
    """`gpu` is empty for what is of all GPUs of the node; `value` in DCGM's words, with its unit in `figure`."""

    node: str
    gpu: str
    section: str
    figure: str
    value: str


class SampleRow(Shape):
    """The newest value of a field; null where there is none."""

    node: str
    entity: str
    field: str
    value: TextOrNull
    unit: str


class ViolationRow(Shape):
    """`time` is that of the engine's host, as it prints it; DCGM does not say of which GPU it is."""

    node: str
    time: str
    violation: str
    values: list[str]


class TemporaryRow(Shape):
    """What is changed until a deadline. `kind` is profiling, policy, power-limit (W) or clocks (MHz of memory and SM);
    a policy is written as `ecc temperature=85`. `value` is what was set, `former` what is put back; empty for none."""

    node: str
    kind: str = take("what")
    value: str
    former: str
    until: Annotated[str, Field(description="ISO 8601")] = take("deadline")
    who: str
    overdue: bool


class Unread(Shape):
    node: str
    reason: str


class EnginesDocument(Document):
    """Result of the commands of `gpustack gpu` that ask host engines: the list that `about` names; the others are
    empty. `temporary` is what of it is changed for a time; `unread` are nodes of which nothing is known."""

    kind: Literal["gpustack/gpu-engines/v1"] = Field("gpustack/gpu-engines/v1", alias="schema")
    about: About
    groups: list[GroupRow]
    policies: list[PolicyRow]
    settings: list[SettingRow]
    metrics: list[MetricGroupRow]
    figures: list[FigureRow]
    samples: list[SampleRow]
    violations: list[ViolationRow]
    temporary: list[TemporaryRow]
    unread: list[Unread]


def text(found: Listing, *, inventory: Inventory | None = None) -> str:
    lists: dict[str, object] = {name: found.rows if name == found.about else () for name in EMPTY}
    values = {"about": found.about, **lists, "temporary": found.temporary, "unread": list_unread(found.unread)}
    return document(EnginesDocument, {**values, "exit": ending(listing_code(found), LISTED)}, inventory)


def list_unread(nodes: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"node": node, "reason": why} for node, why in nodes.items()]
