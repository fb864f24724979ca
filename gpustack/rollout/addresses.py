"""The refusal to change a cluster whose node addresses are not known for certain."""

from gpustack.ask.snapshot import Snapshot
from gpustack.errors import RolloutError
from gpustack.steps.node_address import KEY, find_unconfirmed_hosts


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
