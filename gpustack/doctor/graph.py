"""The causal graph, joined from the files of the catalogue. All edges are read through it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter

from gpustack.doctor.catalogue import load_layers
from gpustack.doctor.entry import ARROW, GUARD, Edge, Fault, Group, Layer, State

Entry = Fault | State


@dataclass(frozen=True)
class Graph:
    """Hold the entries and edges of the catalogue. `incoming_edges` and `outgoing_edges` are by id; `order` has causes
    before effects."""

    faults: Mapping[str, Fault]
    states: Mapping[str, State]
    groups: tuple[Group, ...]
    incoming_edges: Mapping[str, tuple[Edge, ...]]
    outgoing_edges: Mapping[str, tuple[Edge, ...]]
    order: tuple[str, ...]

    def __getitem__(self, id: str) -> Entry:
        return self.faults.get(id) or self.states[id]

    def __contains__(self, id: str) -> bool:
        return id in self.faults or id in self.states

    def list_subjects(self, name: str) -> tuple[Entry, ...]:
        """List the entries that a judgement is about: the entry of its id or guard, or both ends of an edge."""
        return tuple(self[id.removesuffix(GUARD)] for id in name.split(ARROW))

    def format_title(self, name: str) -> str:
        """Format the title of an entry. A guard has that of its fault, and an edge those of both ends."""
        return ARROW.join(subject.title for subject in self.list_subjects(name))

    @property
    def edges(self) -> Iterator[Edge]:
        for id in self.order:
            yield from self.outgoing_edges[id]

    def find_ancestors(self, id: str) -> frozenset[str]:
        return frozenset(
            find_reachable(id, {name: [edge.cause for edge in edges] for name, edges in self.incoming_edges.items()})
        )

    def find_descendants(self, id: str) -> frozenset[str]:
        return frozenset(
            find_reachable(id, {name: [edge.effect for edge in edges] for name, edges in self.outgoing_edges.items()})
        )


def find_reachable(start: str, neighbours: Mapping[str, list[str]]) -> set[str]:
    reachable_ids: set[str] = set()
    queue = [start]
    while queue:
        for name in neighbours[queue.pop()]:
            if name not in reachable_ids:
                reachable_ids.add(name)
                queue.append(name)
    return reachable_ids


def join_layers(layers: Iterable[Layer]) -> Graph:
    """Join layers into one graph. Raise ValueError with everything that is wrong: a repeated id, an edge or a group of
    unknown ids, a condition or pair without its edge, a cycle, a guard that is missing or superfluous."""
    layers = tuple(layers)
    faults = [fault for file in layers for fault in file.faults]
    states = [state for file in layers for state in file.states]
    edges = [edge for file in layers for edge in file.edges]
    groups = tuple(group for file in layers for group in file.groups)
    ids = [fault.id for fault in faults] + [state.id for state in states]
    errors = [
        *list_errors(ids, edges, groups),
        *(f"{id}: not a conditional edge" for file in layers for id in file.odd),
    ]
    errors += [f"{fault.id}: guard" for fault in faults if bool(fault.guard) != (fault.role == "conditional")]
    if errors:
        raise ValueError("; ".join(errors))
    return Graph(
        {fault.id: fault for fault in faults},
        {state.id: state for state in states},
        groups,
        {id: tuple(edge for edge in edges if edge.effect == id) for id in ids},
        {id: tuple(edge for edge in edges if edge.cause == id) for id in ids},
        order_ids(ids, edges),
    )


def list_errors(ids: list[str], edges: list[Edge], groups: Iterable[Group]) -> Iterator[str]:
    known_ids = set(ids)
    yield from (f"{id}: there twice" for id, times in Counter(ids).items() if times > 1)
    yield from (f"{id}: there twice" for id, times in Counter(edge.id for edge in edges).items() if times > 1)
    yield from (f"{edge.id}: unknown id" for edge in edges if not {edge.cause, edge.effect} <= known_ids)
    yield from (f"{group.common}: unknown id" for group in groups if not set(group.faults) <= known_ids)


def order_ids(ids: list[str], edges: list[Edge]) -> tuple[str, ...]:
    causes: dict[str, list[str]] = {id: [] for id in ids}
    for edge in edges:
        causes[edge.effect].append(edge.cause)
    try:
        return tuple(TopologicalSorter(causes).static_order())
    except CycleError as error:
        raise ValueError(f"a cycle: {' -> '.join(error.args[1])}") from error


@cache
def load_graph() -> Graph:
    """Load the graph of the catalogue."""
    return join_layers(load_layers())
