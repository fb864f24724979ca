"""Where the boxes and arrows of a causal chain stand: the root on top, each thing set in below what led to it.

Lengths are pixels of the SVG. The text is not measured: a character is taken for a little more than it needs.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpustack.doctor.finding import Branch, Finding
from gpustack.doctor.graph import graph
from gpustack.events import count
from gpustack.report.doctor_words import titled
from gpustack.report.words import cut

Kind = Literal["root", "correlated", "fault", "state", "folded"]

ROW, HEIGHT, INDENT, MARGIN = 42, 30, 30, 2
CHARACTER, PADDING = 7.6, 26
LONGEST = 88
"""Characters of a box's text; the whole stands in its tooltip."""


@dataclass(frozen=True)
class Box:
    """`depth` steps from the root; `id` is that of the catalogue, or empty for what stands for several."""

    id: str
    text: str
    kind: Kind
    depth: int
    x: int = 0
    y: int = 0
    width: int = 0

    @property
    def shown(self) -> str:
        return cut(self.text, LONGEST)


@dataclass(frozen=True)
class Drawing:
    """`arrows` are the paths of SVG, each from a box to one that it led to."""

    boxes: tuple[Box, ...]
    arrows: tuple[str, ...]
    width: int
    height: int
    label: str


def unfolded(found: Finding) -> Drawing:
    """Everything that is confirmed below the root."""
    return drawing(found, list(below(found.chain, {one.id for one in found.caused})) if found.chain else [])


def folded(found: Finding) -> Drawing:
    """Only the faults; what each broke is one box, with its number."""
    return drawing(found, list(faults(found.chain, {one.id for one in found.caused})) if found.chain else [])


def below(branch: Branch, caused: Collection[str], depth: int = 1) -> Iterator[Box]:
    for one in branch.branches:
        yield Box(one.id, titled(one.id, one.wheres), "fault" if one.id in caused else "state", depth)
        yield from below(one, caused, depth + 1)


def faults(branch: Branch, caused: Collection[str], depth: int = 1) -> Iterator[Box]:
    if number := len(list(symptoms(branch, caused))):
        yield Box("", count(number, "symptom"), "folded", depth)
    for one in nearest(branch, caused):
        yield Box(one.id, titled(one.id, one.wheres), "fault", depth)
        yield from faults(one, caused, depth + 1)


def symptoms(branch: Branch, caused: Collection[str]) -> Iterator[str]:
    """Down to the next fault."""
    for one in branch.branches:
        if one.id not in caused:
            yield one.id
            yield from symptoms(one, caused)


def nearest(branch: Branch, caused: Collection[str]) -> Iterator[Branch]:
    for one in branch.branches:
        if one.id in caused:
            yield one
        else:
            yield from nearest(one, caused)


def drawing(found: Finding, boxes: Sequence[Box]) -> Drawing:
    beside = dict.fromkeys(one.id for one in found.correlated)
    tops = [Box(found.id, titled(found.id, found.wheres), "root", 0)]
    tops += [Box(id, f"correlated: {graph()[id].title}", "correlated", 0) for id in beside]
    placed = [put(box, row) for row, box in enumerate([*tops, *boxes])]
    last: dict[int, Box] = {}
    arrows = []
    for box in placed:
        if box.kind != "correlated":
            last[box.depth] = box
        if box.depth:
            arrows.append(arrow(last[box.depth - 1], box))
    width = max(box.x + box.width for box in placed) + MARGIN
    return Drawing(tuple(placed), tuple(arrows), width, len(placed) * ROW, f"{found.id} and what it led to")


def put(box: Box, row: int) -> Box:
    width = round(len(box.shown) * CHARACTER) + PADDING
    return replace(box, x=MARGIN + box.depth * INDENT, y=MARGIN + row * ROW, width=width)


def arrow(cause: Box, effect: Box) -> str:
    """Down from below the cause, then into the side of the effect."""
    return f"M{cause.x + INDENT // 2} {cause.y + HEIGHT}V{effect.y + HEIGHT // 2}H{effect.x - 1}"
