"""The tree from a root cause to its symptoms. A symptom hangs below the last confirmed entry that leads to it."""

from collections.abc import Collection, Mapping

from gpustack.doctor.finding import Branch
from gpustack.doctor.placed_graph import MAY_HOLD, PlacedGraph, Reach


def build_chain(placed_graph: PlacedGraph, sources: Reach, impact: Mapping[str, Collection[str]]) -> Branch:
    """Build the tree below a root. `sources` has one id with its locations, `impact` what is confirmed below it."""
    (root,) = (id for id, locations in sources.items() if locations)
    confirmed_locations = {
        root: set(sources[root]),
        **{id: set(locations) for id, locations in impact.items() if locations and id != root},
    }
    parents: dict[str, str] = {}
    # The order is from causes to effects, so that the last cause that leads to an entry becomes its parent.
    for id in (id for id in placed_graph.graph.order if id in confirmed_locations):
        parents |= dict.fromkeys(find_nearest(placed_graph, id, confirmed_locations), id)
    return build_branch(placed_graph, root, confirmed_locations, parents)


def build_branch(placed_graph: PlacedGraph, id: str, confirmed_locations: Reach, parents: Mapping[str, str]) -> Branch:
    child_ids = [name for name in placed_graph.graph.order if parents.get(name) == id]
    locations = tuple(location for location in (*placed_graph.hosts, "@cluster") if location in confirmed_locations[id])
    return Branch(
        id, locations, tuple(build_branch(placed_graph, name, confirmed_locations, parents) for name in child_ids)
    )


def find_nearest(placed_graph: PlacedGraph, id: str, confirmed_locations: Reach) -> set[str]:
    """Find the nearest confirmed entries below an id, through unknown ones as well."""
    effects: set[str] = set()
    queue, visited_ids = [(id, confirmed_locations[id])], {id}
    while queue:
        name, places = queue.pop(0)
        for edge in placed_graph.graph.outgoing_edges[name]:
            locations = placed_graph.cross_edge(edge, places, MAY_HOLD)
            if locations & confirmed_locations.get(edge.effect, set()):
                effects.add(edge.effect)
            elif locations and edge.effect not in visited_ids:
                visited_ids.add(edge.effect)
                queue.append((edge.effect, locations))
    return effects
