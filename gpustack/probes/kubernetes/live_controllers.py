"""Controllers that have pods which did not fail: what became of a pod that failed can be told by them."""

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.proof import join_paths, list_field_paths


def parse_live_controllers(answer: Answer) -> frozenset[str]:
    """Parse the uids of the controllers."""
    return frozenset(
        str(owner["uid"])
        for entry in list_objects(answer)
        for owner in entry["metadata"].get("ownerReferences", ())
        if owner.get("controller")
    )


LIVE_CONTROLLERS = Probe(
    "node.live-controllers",
    Api(
        "/api/v1/pods?fieldSelector=status.phase!=Failed",
        join_paths(
            list_field_paths("metadata", "name", "namespace"),
            list_field_paths("metadata.ownerReferences", "uid", "controller"),
        ),
        metadata=True,
    ),
    parse_live_controllers,
)
