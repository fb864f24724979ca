"""The causal graph: joins the files of the catalogue, and says what is above and below. Nothing else knows an edge."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter

from gpustack.doctor.catalogue import layers
from gpustack.doctor.entry import Edge, Fault, Group, Layer, State

Entry = Fault | State


@dataclass(frozen=True)
class Graph:
    """`above` and `below` are the edges into and out of an id; `order` has causes before effects."""

    faults: Mapping[str, Fault]
    states: Mapping[str, State]
    groups: tuple[Group, ...]
    above: Mapping[str, tuple[Edge, ...]]
    below: Mapping[str, tuple[Edge, ...]]
    order: tuple[str, ...]

    def __getitem__(self, id: str) -> Entry:
        return self.faults.get(id) or self.states[id]

    def __contains__(self, id: str) -> bool:
        return id in self.faults or id in self.states

    @property
    def edges(self) -> Iterator[Edge]:
        for id in self.order:
            yield from self.below[id]

    def ancestors(self, id: str) -> frozenset[str]:
        return frozenset(walked(id, {name: [edge.cause for edge in found] for name, found in self.above.items()}))

    def descendants(self, id: str) -> frozenset[str]:
        return frozenset(walked(id, {name: [edge.effect for edge in found] for name, found in self.below.items()}))


def walked(start: str, ways: Mapping[str, list[str]]) -> set[str]:
    found: set[str] = set()
    wanted = [start]
    while wanted:
        for name in ways[wanted.pop()]:
            if name not in found:
                found.add(name)
                wanted.append(name)
    return found


def joined(files: Iterable[Layer]) -> Graph:
    """Raises ValueError with everything that is wrong: an id twice, an edge or a group of unknown ids, a condition or
    pair without its edge, a cycle, a guard that is missing or too much."""
    files = tuple(files)
    faults = [fault for file in files for fault in file.faults]
    states = [state for file in files for state in file.states]
    edges = [edge for file in files for edge in file.edges]
    groups = tuple(group for file in files for group in file.groups)
    ids = [fault.id for fault in faults] + [state.id for state in states]
    wrong = [*complaints(ids, edges, groups), *(f"{id}: not a conditional edge" for file in files for id in file.odd)]
    wrong += [f"{fault.id}: guard" for fault in faults if bool(fault.guard) != (fault.role == "conditional")]
    if wrong:
        raise ValueError("; ".join(wrong))
    return Graph(
        {fault.id: fault for fault in faults},
        {state.id: state for state in states},
        groups,
        {id: tuple(edge for edge in edges if edge.effect == id) for id in ids},
        {id: tuple(edge for edge in edges if edge.cause == id) for id in ids},
        ordered(ids, edges),
    )


def complaints(ids: list[str], edges: list[Edge], groups: Iterable[Group]) -> Iterator[str]:
    known = set(ids)
    yield from (f"{id}: there twice" for id, times in Counter(ids).items() if times > 1)
    yield from (f"{id}: there twice" for id, times in Counter(edge.id for edge in edges).items() if times > 1)
    yield from (f"{edge.id}: unknown id" for edge in edges if not {edge.cause, edge.effect} <= known)
    yield from (f"{group.common}: unknown id" for group in groups if not set(group.faults) <= known)


def ordered(ids: list[str], edges: list[Edge]) -> tuple[str, ...]:
    causes: dict[str, list[str]] = {id: [] for id in ids}
    for edge in edges:
        causes[edge.effect].append(edge.cause)
    try:
        return tuple(TopologicalSorter(causes).static_order())
    except CycleError as error:
        raise ValueError(f"a cycle: {' -> '.join(error.args[1])}") from error


@cache
def graph() -> Graph:
    """That of the catalogue."""
    return joined(layers())
