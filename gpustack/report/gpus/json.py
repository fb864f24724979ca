"""The fleet as one JSON document, and as CSV. Within a version fields are only ever added."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from gpustack.gpus.fleet import Fleet
from gpustack.gpus.identity import GpuIdentity, Owner
from gpustack.report.csv_text import write_csv
from gpustack.report.document import render_result
from gpustack.report.format import build_cleaner
from gpustack.report.renderings import FLEET
from gpustack.report.schema import Document, NumbersShape, TimeOrNull, take
from gpustack.vocabulary.basis import Basis

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory


class Card(GpuIdentity, NumbersShape):
    """Describe a GPU, or an instance of one in MIG mode. What its exporter does not send is null."""

    driver: str | None = take("gpu", "driver")
    vbios: str | None = take("gpu", "vbios")
    owners: list[Owner]
    sharing: str | None
    memory_total_bytes: float | None = take("memory")
    pcie_generation: int | None = take("generation")
    pcie_lanes: int | None = take("width")
    pcie_generation_max: int | None = take("most_generation")
    pcie_lanes_max: int | None = take("most_width")
    ecc: bool | None
    mig: bool | None
    nvlink: bool | None
    health_known: bool = take("known")
    problems: list[str] = take("ill")
    differences: list[str] = take("odd")
    measured_at: TimeOrNull = take("time")
    in_use: bool | None
    basis: dict[str, Basis]


class FleetDocument(Document):
    """Describe the result of `gpustack gpu list`."""

    kind: Literal["gpustack/gpus/v1"] = Field("gpustack/gpus/v1", alias="schema")
    gpus: list[Card] = take("cards")
    warnings: list[str] = take("doubts")


def render_json(fleet: Fleet, *, inventory: "Inventory | None" = None) -> str:
    return render_result(FLEET, FleetDocument, fleet, inventory)


def render_csv(fleet: Fleet, *, inventory: "Inventory | None" = None) -> str:
    """Render a line for each GPU, with the names of the JSON document."""
    names = [name for name in Card.model_fields if name not in ("owners", "basis")]
    rows = []
    for card in fleet.cards:
        values = Card.model_validate(card).model_dump()
        owners = (
            format_cell([owner.namespace for owner in card.owners]),
            format_cell([owner.pod for owner in card.owners]),
        )
        rows.append([*(format_cell(values[name]) for name in names), *owners])
    return write_csv([*names, "namespace", "pod"], rows, build_cleaner(inventory))


def format_cell(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
