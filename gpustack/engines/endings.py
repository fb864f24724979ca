"""Outcomes of a change by node, by dcgmi's reply and by the settings in force afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gpustack.engines.call import Reply
from gpustack.engines.dcgmi_json import BLANK
from gpustack.engines.listings import Listing, Setting

Ending = Literal["done", "refused", "unknown"]
NO_GPU = "no GPU was named afterwards"


@dataclass(frozen=True)
class NodeEnding:
    """Hold the outcome of a change on a node. With `unknown` no answer came, and the change may have been made."""

    node: str
    ending: Ending
    reason: str = ""


def judge_reply(reply: Reply) -> NodeEnding:
    ending: Ending = "unknown" if reply.missing_reason else "refused" if reply.fault else "done"
    return NodeEnding(reply.node, ending, reply.fault)


def check_settings(
    endings: Sequence[NodeEnding], expected_settings: Mapping[str, str], listing: Listing
) -> tuple[NodeEnding, ...]:
    """Check the changes that were made by the settings that are in force now."""
    return tuple(
        check_node(ending, expected_settings, listing) if ending.ending == "done" else ending for ending in endings
    )


def check_node(node_ending: NodeEnding, expected_settings: Mapping[str, str], listing: Listing) -> NodeEnding:
    rows = [row for row in listing.rows if isinstance(row, Setting) and row.node == node_ending.node]
    if not rows:
        return NodeEnding(node_ending.node, "unknown", listing.unread.get(node_ending.node, NO_GPU))
    odd_rows = [
        row
        for row in rows
        if row.setting in expected_settings and not matches_setting(row.current, expected_settings[row.setting])
    ]
    reason = "; ".join(f"GPU {row.gpu}: {row.setting} is {row.current}" for row in odd_rows)
    return NodeEnding(node_ending.node, "refused", reason) if odd_rows else node_ending


def matches_setting(current: str, expected_value: str) -> bool:
    return current == expected_value if expected_value else current not in BLANK
