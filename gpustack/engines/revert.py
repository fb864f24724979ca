"""Decisions about overdue changes: reverted, already as before, or changed by somebody else and left alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpustack.engines.endings import NO_GPU
from gpustack.engines.listings import Listing
from gpustack.engines.marks import Place
from gpustack.engines.values import extract_values
from gpustack.probes.gpu.temporary_changes import KINDS, WITHOUT_VALUES, Mark, format_setting

Outcome = Literal["done", "left", "refused", "unknown"]
FINAL_ENDINGS = ("done", "left")
"""Endings that need no mark."""
AS_BEFORE = "it was as before already"
FOREIGN_VALUE = "somebody else has set it since, and it stays"
PARTLY_CHANGED = "somebody else has set it since on some GPUs, and dcgmi sets all of a node at once"


@dataclass(frozen=True)
class Revert:
    """Hold the outcome of a revert. With `left` somebody else has changed the value since. With `refused` and `unknown`
    the mark stays."""

    node: str
    kind: str
    ending: Outcome
    reason: str = ""

    @property
    def place(self) -> Place:
        return self.node, self.kind


def judge_mark(mark: Mark, listing: Listing | None) -> Revert | None:
    """Judge an overdue change. Return None where it is to be reverted. `listing` has the values in force, None for a
    kind without values."""
    if listing is None:
        return None
    values = extract_values(mark.kind, listing, mark.node)
    if not values:
        return Revert(mark.node, mark.kind, "unknown", listing.unread.get(mark.node, NO_GPU))
    foreign_values = {gpu: value for gpu, value in values.items() if value not in (mark.former, *mark.values)}
    if all(value == mark.former or gpu in foreign_values for gpu, value in values.items()):
        ending: Outcome = "left" if foreign_values else "done"
        return Revert(
            mark.node,
            mark.kind,
            ending,
            format_values(mark.kind, foreign_values, FOREIGN_VALUE) if foreign_values else AS_BEFORE,
        )
    if foreign_values:
        return Revert(mark.node, mark.kind, "refused", format_values(mark.kind, foreign_values, PARTLY_CHANGED))
    return None


def check_former(mark: Mark, listing: Listing | None) -> Revert:
    """Check the values in force after a revert."""
    if listing is None:
        return Revert(mark.node, mark.kind, "done")
    values = extract_values(mark.kind, listing, mark.node)
    if not values:
        return Revert(mark.node, mark.kind, "unknown", listing.unread.get(mark.node, NO_GPU))
    odd_values = {gpu: value for gpu, value in values.items() if value != mark.former}
    return Revert(mark.node, mark.kind, "refused" if odd_values else "done", format_values(mark.kind, odd_values))


def is_as_before(mark: Mark, listing: Listing | None) -> bool:
    """Tell whether nothing was changed; a kind without values is changed as a whole or not at all."""
    if mark.kind in WITHOUT_VALUES or listing is None:
        return True
    values = extract_values(mark.kind, listing, mark.node)
    return bool(values) and {*values.values()} == {mark.former}


def format_values(kind: str, values: Mapping[str, str], reason: str = "") -> str:
    parts = [f"GPU {gpu}: {KINDS[kind]} {format_setting(kind, value)}" for gpu, value in values.items()]
    return "; ".join([*parts, *filter(None, [reason])])
