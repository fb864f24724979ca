"""The refusals to change a cluster whose node addresses are not certain, and to create one with settings that cannot be
right."""

from collections.abc import Sequence

from gpustack.ask.snapshot import Snapshot
from gpustack.errors import RolloutError
from gpustack.steps.control_plane import step as control_plane
from gpustack.steps.creation import find_obstacles
from gpustack.steps.node_address import KEY, find_unconfirmed_hosts
from gpustack.steps.step import Step


def refuse_unconfirmed(snapshot: Snapshot) -> None:
    """Raise RolloutError where a host reports another address than SSH reached and the inventory sets none.

    The peers of such a host would let in an address that only the host itself has named, or shut out the one that its
    node uses.
    """
    unconfirmed_hosts = find_unconfirmed_hosts(snapshot)
    if not unconfirmed_hosts:
        return
    reason = "\n".join(f"{host}: {doubt}" for host, doubt in unconfirmed_hosts)
    message = f"The address of a node is not certain: set {KEY} of the host in the inventory. Nothing was changed."
    raise RolloutError("node-address-unconfirmed", message, reason)


def refuse_creation(snapshot: Snapshot, steps: Sequence[Step]) -> None:
    """Raise RolloutError where these steps would create the cluster, and a setting that is fixed then is wrong."""
    if control_plane.STEP not in steps:
        return
    results = [(judgement.location, judgement.result) for judgement in find_obstacles(snapshot) if judgement.result]
    if results:
        reason = "\n".join(f"{location}: {result}" for location, result in results)
        message = (
            "The cluster was not created: what cannot be changed later is not as it has to be. Nothing was changed."
        )
        raise RolloutError("creation-refused", message, reason, results[0][1].hint)
