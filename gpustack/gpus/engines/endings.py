"""What became of a change on a node: by what dcgmi answered, and by what is in force afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gpustack.gpus.engines.boxes import BLANK
from gpustack.gpus.engines.call import Reply
from gpustack.gpus.engines.listings import Listing, Setting

Ending = Literal["done", "refused", "unknown"]
NO_GPU = "no GPU was named afterwards"


@dataclass(frozen=True)
class NodeEnding:
    """`unknown`: no answer came, and it may have been done."""

    node: str
    ending: Ending
    why: str = ""


def judge(one: Reply) -> NodeEnding:
    ending: Ending = "unknown" if one.lost else "refused" if one.fault else "done"
    return NodeEnding(one.node, ending, one.fault)


def check_settings(
    endings: Sequence[NodeEnding], expected: Mapping[str, str], found: Listing
) -> tuple[NodeEnding, ...]:
    """Those that were done, by what is in force now."""
    return tuple(check_node(one, expected, found) if one.ending == "done" else one for one in endings)


def check_node(one: NodeEnding, expected: Mapping[str, str], found: Listing) -> NodeEnding:
    rows = [row for row in found.rows if isinstance(row, Setting) and row.node == one.node]
    if not rows:
        return NodeEnding(one.node, "unknown", found.unread.get(one.node, NO_GPU))
    odd = [row for row in rows if row.setting in expected and not is_as_expected(row.current, expected[row.setting])]
    why = "; ".join(f"GPU {row.gpu}: {row.setting} is {row.current}" for row in odd)
    return NodeEnding(one.node, "refused", why) if odd else one


def is_as_expected(current: str, expected: str) -> bool:
    return current == expected if expected else current not in BLANK
