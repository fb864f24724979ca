"""The acts of the last week on a node, in an annotation: they survive reboots, and the limits of a week count them."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from gpustack.ask.probe import UNREADABLE
from gpustack.files.json_text import dump_json, load_json
from gpustack.remediation.rungs import ACTS, ActId

WEEK = timedelta(days=7)
End = Literal["begun", "done", "failed"]
ENDS: tuple[End, ...] = ("begun", "done", "failed")


@dataclass(frozen=True)
class Act:
    """Describe an act: its rung, when `author` began it, the verdict that asked for it, and its GPUs. `end` stays
    `begun` where gpustack was killed."""

    rung: ActId
    begun_at: datetime
    author: str
    verdict: str
    gpus: tuple[str, ...] = ()
    end: End = "begun"


def parse_acts(text: str) -> tuple[Act, ...] | None:
    """Parse the acts, of which there are none in an empty text; None for a text that is no record."""
    if not text:
        return ()
    try:
        return tuple(map(parse_act, load_json(text)["acts"]))
    except UNREADABLE:
        return None


def parse_act(entry: dict[str, object]) -> Act:
    """Parse an act. Raise ValueError or KeyError for another shape."""
    rung, end, gpus = str(entry["rung"]), str(entry["end"]), entry["gpus"]
    begun_at = datetime.fromisoformat(str(entry["begun_at"]))
    if rung not in ACTS or end not in ENDS or begun_at.tzinfo is None or not isinstance(gpus, list):
        raise ValueError(rung)
    author, verdict = str(entry["author"]), str(entry["verdict"])
    return Act(rung, begun_at, author, verdict, tuple(map(str, gpus)), end)


def format_acts(acts: Iterable[Act]) -> str:
    """Format the acts of the last week as the text of the annotation."""
    limit = datetime.now(UTC) - WEEK
    entries = [
        asdict(act) | {"begun_at": act.begun_at.isoformat(timespec="seconds")} for act in acts if act.begun_at > limit
    ]
    return dump_json({"acts": entries}, sort_keys=True)
