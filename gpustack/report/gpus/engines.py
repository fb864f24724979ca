"""Listings of host engines, as a table for people and as one JSON document."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gpustack.config.inventory import Inventory
from gpustack.engines.listings import Listing, Row, Topic
from gpustack.report.document import render_result
from gpustack.report.gpus.text import UNKNOWN
from gpustack.report.renderings import LISTING
from gpustack.report.schema import Document, Shape, TextOrNull, TimeOrNull, take
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal

EMPTY: Mapping[Topic, str] = {
    "groups": "no groups",
    "policies": "no policies: no engine names a GPU",
    "settings": "no settings: no engine names a GPU",
    "figures": "nothing is recorded",
    "violations": "no violation was reported",
    "samples": "no values: no engine names a GPU",
    "metrics": "no profiling metrics: these GPUs measure none, or the profiling module is not loaded",
}


def render_human(console: Terminal, listing: Listing) -> None:
    if listing.rows:
        headings = [field.name.upper().replace("_", " ") for field in fields(listing.rows[0])]
        console.print(draw_table(console, headings, map(format_cells, listing.rows)))
    elif not listing.unread:
        console.print(EMPTY[listing.topic])
    for mark in listing.temporary:
        console.print(console.clean(f"{mark.node}: {mark.description}, by {mark.author}"))
    print_unread_nodes(console, listing.unread)


def format_cells(row: Row) -> tuple[str, ...]:
    values = (getattr(row, field.name) for field in fields(row))
    return tuple((", ".join(value) if isinstance(value, tuple) else str(value)) or UNKNOWN for value in values)


def print_unread_nodes(console: Terminal, nodes: Mapping[str, str]) -> None:
    for node, reason in nodes.items():
        console.print(console.clean(f"unknown: {node}: {reason}"))


class GroupRow(Shape):
    """Describe a group of DCGM."""

    node: str
    group_id: int = take("id")
    name: str
    entities: list[str]


class PolicyRow(Shape):
    """Describe the policy of a GPU."""

    node: str
    gpu: str
    conditions: list[str]
    action: str
    validation: str


class SettingRow(Shape):
    """Describe a setting of a GPU in dcgmi's words. Power is in W, clocks are in MHz."""

    node: str
    gpu: str
    model: TextOrNull
    setting: str
    target_setting: str = take("target")
    current_setting: TextOrNull = take("current")


class MetricGroupRow(Shape):
    """Describe a profiling field of the first GPU of a node. Groups with the same letter are measured in turn."""

    node: str
    group: str
    field_id: int
    field: str


class FigureRow(Shape):
    """Describe a recorded figure in DCGM's words."""

    node: str
    gpu: str
    section: str
    figure: str
    value_text: TextOrNull = take("value")


class SampleRow(Shape):
    """Describe the newest value of a field in DCGM's words."""

    node: str
    entity: str
    field: str
    value_text: TextOrNull = take("value")
    unit: TextOrNull


class ViolationRow(Shape):
    """Describe a violation of a policy. DCGM does not name the GPU."""

    node: str
    engine_time: str = take("time")
    violation: str
    values: list[str]


class TemporaryRow(Shape):
    """Describe a change that is reverted after a time. A power limit is in W, clocks are in MHz of memory and SM, a
    policy is written as `ecc temperature=85`."""

    node: str
    kind: str
    target_setting: str = take("value")
    former_setting: TextOrNull = take("former")
    expires_at: TimeOrNull
    author: str
    overdue: bool


class UnreadNode(Shape):
    """Describe a node of which nothing is known, or that lost GPUs, and the reason."""

    node: str
    reason: TextOrNull


def list_unread_nodes(nodes: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"node": node, "reason": reason} for node, reason in nodes.items()]


UnreadNodes = Annotated[list[UnreadNode], BeforeValidator(list_unread_nodes)]


class EnginesDocument(Document):
    """Describe the result of the commands of `gpustack gpu` that ask host engines. `topic` names the list that has
    the result; the other lists are empty."""

    kind: Literal["gpustack/gpu-engines/v1"] = Field("gpustack/gpu-engines/v1", alias="schema")
    topic: Topic
    groups: list[GroupRow]
    policies: list[PolicyRow]
    settings: list[SettingRow]
    metrics: list[MetricGroupRow]
    figures: list[FigureRow]
    samples: list[SampleRow]
    violations: list[ViolationRow]
    temporary_changes: list[TemporaryRow] = take("temporary")
    unreachable_nodes: UnreadNodes = take("unread")


def render_json(listing: Listing, *, inventory: Inventory | None = None) -> str:
    lists: dict[str, object] = {name: listing.rows if name == listing.topic else () for name in EMPTY}
    return render_result(LISTING, EnginesDocument, listing, inventory, **lists)
