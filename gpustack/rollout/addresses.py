"""Refuse to change a cluster whose node addresses are not known for certain."""

from gpustack.ask.snapshot import Snapshot
from gpustack.command import Command
from gpustack.errors import RolloutError
from gpustack.steps.node_address import KEY, find_unconfirmed_hosts


def refuse_unconfirmed(snapshot: Snapshot) -> None:
    """Raises RolloutError where a host reports another address than SSH reached and the inventory sets none: its peers
    would let in an address that only the host itself has named, or shut out the one that its node uses."""
    unconfirmed = find_unconfirmed_hosts(snapshot)
    if not unconfirmed:
        return
    why = "\n".join(f"{host}: {reason}" for host, reason in unconfirmed)
    message = f"The address of a node is not certain: set {KEY} of the host in the inventory. Nothing was changed."
    hint = Command("gpustack", "explain", "node-address-unconfirmed")
    raise RolloutError("node-address-unconfirmed", message, why, hint)
