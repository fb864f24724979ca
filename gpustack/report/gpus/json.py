"""The fleet as one JSON document, and as CSV. A field is only ever added within a version."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from gpustack.gpus.fleet import Fleet
from gpustack.report.csv_text import write_csv
from gpustack.report.document import document, ending
from gpustack.report.format import cleaner
from gpustack.report.schema import Document, Shape, TextOrNull, take

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory


class Owner(Shape):
    """The pod that the kubelet gave the GPU to, which is not yet that it is used."""

    namespace: str
    pod: str
    container: TextOrNull


class Card(Shape):
    """A GPU, or an instance of one in MIG mode (`instance`, `profile`). `memory_bytes` is all of its memory; what its
    exporter does not say is null. `owners` are all pods that share it, of which `owner` is the first; `sharing` is the
    node's label nvidia.com/gpu.sharing-strategy; `nvlink` is true where NVLink is measured. `ill` are sentences, none
    for a GPU that is well; `judged` is false where nothing tells. `differs`: from most of its model. `last_sample` is
    the time of its newest value, in seconds since 1970."""

    node: str = take("gpu", "node")
    index: TextOrNull = take("gpu", "index")
    uuid: TextOrNull = take("gpu", "uuid")
    instance: TextOrNull = take("gpu", "instance")
    profile: TextOrNull = take("gpu", "profile")
    model: TextOrNull = take("gpu", "model")
    bus: TextOrNull = take("gpu", "bus")
    driver: str | None = take("gpu", "driver")
    vbios: str | None = take("gpu", "vbios")
    owner: Owner | None
    owners: list[Owner]
    sharing: str | None
    memory_bytes: float | None = take("memory")
    pcie_generation: int | None = take("generation")
    pcie_lanes: int | None = take("width")
    pcie_generation_max: int | None = take("most_generation")
    pcie_lanes_max: int | None = take("most_width")
    ecc: bool | None
    mig: bool | None
    nvlink: bool | None
    judged: bool = take("known")
    ill: list[str]
    differs: list[str] = take("odd")
    last_sample: float = take("at")


class FleetDocument(Document):
    """Result of `gpustack gpu list`. `doubts` are sentences: what was left out, and why."""

    kind: Literal["gpustack/gpus/v1"] = Field("gpustack/gpus/v1", alias="schema")
    gpus: list[Card] = take("cards")
    doubts: list[str]


def fleet(found: Fleet, *, inventory: "Inventory | None" = None) -> str:
    return document(FleetDocument, {**vars(found), "exit": ending(0)}, inventory)


def table(found: Fleet, *, inventory: "Inventory | None" = None) -> str:
    """A line for each GPU, with the names of the JSON document."""
    names = [name for name in Card.model_fields if name not in {"owner", "owners"}]
    rows = []
    for card in found.cards:
        values = Card.model_validate(card).model_dump()
        owners = cell([owner.namespace for owner in card.owners]), cell([owner.pod for owner in card.owners])
        rows.append([*(cell(values[name]) for name in names), *owners])
    return write_csv([*names, "namespace", "pod"], rows, cleaner(inventory))


def cell(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
