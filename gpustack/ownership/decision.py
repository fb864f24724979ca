"""The table by which reset, fix and undo decide what they may remove or restore."""

from enum import Enum

from gpustack.ownership.record import ABSENT, Record

DATA_OF = "present of "
EMPTY = "empty"
"""The state of a folder for data of a cluster that gpustack created and in which nothing is left."""


class Decision(Enum):
    """Name what may be done with a thing, and why."""

    FOREIGN = "gpustack has no record of it"
    FORGET = "it is as it was before gpustack"
    REMOVE = "gpustack created it, and nobody changed it since"
    RESTORE = "gpustack changed it, and nobody changed it since"
    LATER_CHANGE = "it was changed after gpustack wrote it"
    INTERRUPTION = "gpustack was interrupted while it changed it, and it is not what gpustack writes"
    UNKNOWN = "its present state could not be read"


MAY_CHANGE = frozenset({Decision.REMOVE, Decision.RESTORE})


def decide(record: Record | None, actual: str | None, intended_state: str = "") -> Decision:
    """Decide about a thing that is not data of a cluster.

    `actual` is the present state, None where it could not be read. `intended_state` is the state that the interrupted
    change would have left, empty where that is unknown.
    """
    if record is None:
        return Decision.FOREIGN
    if actual is None:
        return Decision.UNKNOWN
    if actual == record.before:
        return Decision.FORGET
    if record.after:
        return decide_return(record) if actual == record.after else Decision.LATER_CHANGE
    return decide_return(record) if intended_state and actual == intended_state else Decision.INTERRUPTION


def decide_return(record: Record) -> Decision:
    """Decide how a thing that is still as gpustack left it returns to its earlier state."""
    return Decision.REMOVE if record.before == ABSENT else Decision.RESTORE


def decide_data(record: Record | None, actual_cluster: str | None) -> Decision:
    """Decide about a directory with data of a cluster: etcd, kubelet, keys.

    The contents change all the time, so the digest of the cluster's CA stands for them. `actual_cluster` is that digest
    as the host has it now, empty where there is no CA, None where it could not be read.
    """
    if record is None:
        return Decision.FOREIGN
    if actual_cluster is None:
        return Decision.UNKNOWN
    if not record.cluster or actual_cluster != record.cluster:
        return Decision.FOREIGN
    return Decision.REMOVE if record.before == ABSENT else Decision.LATER_CHANGE


def decide_by_kind(record: Record | None, kind: str, actual: str | None) -> Decision:
    """Decide about a thing of any kind.

    The state of data that exists is `present of` and the digest of the CA of the cluster.
    """
    if kind == "data":
        return decide_present_data(record, actual)
    if record is None:
        return Decision.FOREIGN
    if kind in {"folder", "store", "link", "private"}:
        if actual is None:
            return Decision.UNKNOWN
        return Decision.FORGET if actual == record.before else decide_return(record)
    return decide(record, actual)


def decide_present_data(record: Record | None, actual: str | None) -> Decision:
    """Decide about data that may have been interrupted before its cluster had a CA."""
    if actual == ABSENT:
        return Decision.FORGET
    if actual == EMPTY:
        return Decision.REMOVE if record and record.before == ABSENT else Decision.FORGET
    if record and record.before == ABSENT and not record.cluster:
        return Decision.INTERRUPTION
    return decide_data(record, actual.removeprefix(DATA_OF) if actual else None)
