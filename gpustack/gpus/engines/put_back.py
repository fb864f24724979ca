"""What is to become of an overdue change: put back, already as before, or somebody else's by now and left alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpustack.gpus.engines.endings import NO_GPU
from gpustack.gpus.engines.listings import Listing
from gpustack.gpus.engines.marks import Place
from gpustack.gpus.engines.values import read_values
from gpustack.probes.gpu.temporary import KINDS, WITHOUT_VALUES, Mark, with_unit

Outcome = Literal["done", "left", "refused", "unknown"]
GONE = ("done", "left")
"""After these no mark is needed."""
AS_BEFORE = "it was as before already"
NOT_OURS = "somebody else has set it since, and it stays"
MIXED = "somebody else has set it since on some GPUs, and dcgmi sets all of a node at once"


@dataclass(frozen=True)
class PutBack:
    """`left`: somebody else has changed it since. Where it was `refused`, or is `unknown`, the mark stays."""

    node: str
    what: str
    ending: Outcome
    why: str = ""

    @property
    def place(self) -> Place:
        return self.node, self.what


def weigh(mark: Mark, found: Listing | None) -> PutBack | None:
    """None where it is to be put back. `found` is what is in force, None for a kind without values."""
    if found is None:
        return None
    values = read_values(mark.what, found, mark.node)
    if not values:
        return PutBack(mark.node, mark.what, "unknown", found.unread.get(mark.node, NO_GPU))
    others = {gpu: value for gpu, value in values.items() if value not in (mark.former, *mark.values)}
    if all(value == mark.former or gpu in others for gpu, value in values.items()):
        ending: Outcome = "left" if others else "done"
        return PutBack(mark.node, mark.what, ending, list_values(mark.what, others, NOT_OURS) if others else AS_BEFORE)
    if others:
        return PutBack(mark.node, mark.what, "refused", list_values(mark.what, others, MIXED))
    return None


def check_former(mark: Mark, found: Listing | None) -> PutBack:
    """After it was put back: by what is in force now."""
    if found is None:
        return PutBack(mark.node, mark.what, "done")
    values = read_values(mark.what, found, mark.node)
    if not values:
        return PutBack(mark.node, mark.what, "unknown", found.unread.get(mark.node, NO_GPU))
    odd = {gpu: value for gpu, value in values.items() if value != mark.former}
    return PutBack(mark.node, mark.what, "refused" if odd else "done", list_values(mark.what, odd))


def is_as_before(mark: Mark, found: Listing | None) -> bool:
    """Whether nothing of it was changed; what has no values is changed as a whole or not at all."""
    if mark.what in WITHOUT_VALUES or found is None:
        return True
    values = read_values(mark.what, found, mark.node)
    return bool(values) and {*values.values()} == {mark.former}


def list_values(what: str, values: Mapping[str, str], why: str = "") -> str:
    found = [f"GPU {gpu}: {KINDS[what]} {with_unit(what, value)}" for gpu, value in values.items()]
    return "; ".join([*found, *filter(None, [why])])
