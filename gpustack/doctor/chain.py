"""From a root to what was seen, as a tree: each thing below the nearest confirmed one that leads to it."""

from collections.abc import Collection, Mapping

from gpustack.doctor.finding import Branch
from gpustack.doctor.ground import MAY_HOLD, Ground, Reach


def chain(ground: Ground, sources: Reach, folded: Mapping[str, Collection[str]]) -> Branch:
    """`sources` is one id at its places. What is folded twice over stands once, where it is reached first."""
    (root,) = (id for id, wheres in sources.items() if wheres)
    seen = {root}
    return branch(ground, root, set(sources[root]), folded, seen)


def branch(ground: Ground, id: str, wheres: set[str], folded: Mapping[str, Collection[str]], seen: set[str]) -> Branch:
    next_ones = [(name, set(folded[name]) & places) for name, places in nearest(ground, id, wheres, folded).items()]
    mine = [(name, places) for name, places in next_ones if name not in seen]
    seen |= {name for name, _ in mine}
    order = (*ground.hosts, "@cluster")
    below = tuple(branch(ground, name, places, folded, seen) for name, places in mine)
    return Branch(id, tuple(where for where in order if where in wheres), below)


def nearest(ground: Ground, id: str, wheres: set[str], folded: Mapping[str, Collection[str]]) -> Reach:
    """The confirmed ones below, through what could not be told."""
    found: Reach = {}
    wanted, passed = [(id, wheres)], {id}
    while wanted:
        name, places = wanted.pop(0)
        for edge in ground.graph.below[name]:
            there = ground.along(edge, places, MAY_HOLD)
            if there & set(folded.get(edge.effect, ())):
                found.setdefault(edge.effect, set()).update(there)
            elif there and edge.effect not in passed:
                passed.add(edge.effect)
                wanted.append((edge.effect, there))
    return found
