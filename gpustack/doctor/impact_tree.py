"""From a root to what was seen, as a tree: each thing below the last confirmed one that leads to it."""

from collections.abc import Collection, Mapping

from gpustack.doctor.finding import Branch
from gpustack.doctor.placed_graph import MAY_HOLD, PlacedGraph, Reach


def chain(placed: PlacedGraph, sources: Reach, folded: Mapping[str, Collection[str]]) -> Branch:
    """`sources` is one id at its places, `folded` what is confirmed below it."""
    (root,) = (id for id, locations in sources.items() if locations)
    confirmed = {
        root: set(sources[root]),
        **{id: set(locations) for id, locations in folded.items() if locations and id != root},
    }
    parents: dict[str, str] = {}
    # From causes to effects, so that the last one that leads to a thing has the last word.
    for id in (id for id in placed.graph.order if id in confirmed):
        parents |= dict.fromkeys(nearest(placed, id, confirmed), id)
    return branch(placed, root, confirmed, parents)


def branch(placed: PlacedGraph, id: str, confirmed: Reach, parents: Mapping[str, str]) -> Branch:
    below = [name for name in placed.graph.order if parents.get(name) == id]
    locations = tuple(where for where in (*placed.hosts, "@cluster") if where in confirmed[id])
    return Branch(id, locations, tuple(branch(placed, name, confirmed, parents) for name in below))


def nearest(placed: PlacedGraph, id: str, confirmed: Reach) -> set[str]:
    """The confirmed entries below, also through unknown ones."""
    found: set[str] = set()
    wanted, passed = [(id, confirmed[id])], {id}
    while wanted:
        name, places = wanted.pop(0)
        for edge in placed.graph.below[name]:
            there = placed.cross_edge(edge, places, MAY_HOLD)
            if there & confirmed.get(edge.effect, set()):
                found.add(edge.effect)
            elif there and edge.effect not in passed:
                passed.add(edge.effect)
                wanted.append((edge.effect, there))
    return found
