"""From a root to what was seen, as a tree: each thing below the last confirmed one that leads to it."""

from collections.abc import Collection, Mapping

from gpustack.doctor.finding import Branch
from gpustack.doctor.placed_graph import MAY_HOLD, Ground, Reach


def chain(ground: Ground, sources: Reach, folded: Mapping[str, Collection[str]]) -> Branch:
    """`sources` is one id at its places, `folded` what is confirmed below it."""
    (root,) = (id for id, locations in sources.items() if locations)
    spots = {
        root: set(sources[root]),
        **{id: set(locations) for id, locations in folded.items() if locations and id != root},
    }
    parents: dict[str, str] = {}
    # From causes to effects, so that the last one that leads to a thing has the last word.
    for id in (id for id in ground.graph.order if id in spots):
        parents |= dict.fromkeys(nearest(ground, id, spots), id)
    return branch(ground, root, spots, parents)


def branch(ground: Ground, id: str, spots: Reach, parents: Mapping[str, str]) -> Branch:
    below = [name for name in ground.graph.order if parents.get(name) == id]
    locations = tuple(where for where in (*ground.hosts, "@cluster") if where in spots[id])
    return Branch(id, locations, tuple(branch(ground, name, spots, parents) for name in below))


def nearest(ground: Ground, id: str, spots: Reach) -> set[str]:
    """The confirmed ones below, through what could not be told."""
    found: set[str] = set()
    wanted, passed = [(id, spots[id])], {id}
    while wanted:
        name, places = wanted.pop(0)
        for edge in ground.graph.below[name]:
            there = ground.along(edge, places, MAY_HOLD)
            if there & spots.get(edge.effect, set()):
                found.add(edge.effect)
            elif there and edge.effect not in passed:
                passed.add(edge.effect)
                wanted.append((edge.effect, there))
    return found
