"""Temporary changes of gpustack on the GPUs of nodes: an annotation of the node for each kind of change, with the
deadline and the values before it.

Others may write annotations too: an annotation of another shape is no mark, and a mark holds values alone, never a
command.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.json_text import dump_json, load_json
from gpustack.probes.kubernetes.nodes import list_objects

PREFIX = "gpustack.io/temporary-"
PROFILING, POLICY, POWER_LIMIT, CLOCKS, LOAD = "profiling", "policy", "power-limit", "clocks", "load"
KINDS = {PROFILING: "profiling", POLICY: "policy", POWER_LIMIT: "power limit", CLOCKS: "clocks", LOAD: "load"}
"""The names of the kinds for people."""
# The values that a kind can have: none, conditions of a policy, watts, MHz of memory and SM.
CONDITION = r"(ecc|pcie|nvlink|xid|(pages|temperature|power)=\d{1,9})"
VALUES: Mapping[str, re.Pattern[str]] = {
    PROFILING: re.compile(""),
    LOAD: re.compile(""),
    POLICY: re.compile(rf"({CONDITION}( {CONDITION})*( action=1)?( validation=[123])?)?"),
    POWER_LIMIT: re.compile(r"[1-9]\d{0,4}"),
    CLOCKS: re.compile(r"\d{1,5},\d{1,5}"),
}
WITHOUT_VALUES = {PROFILING: "profiling paused", LOAD: "GPUs under load"}
"""The descriptions of kinds that have no value."""
UNITS = {POWER_LIMIT: " W", CLOCKS: " MHz"}


@dataclass(frozen=True)
class Mark:
    """Hold the changes of one kind on one node.

    `values` were set until the deadline, the last one by `author`; each may be in force, since a change can be
    interrupted. `former` was in force before all of them. `overdue` is not stored.
    """

    node: str
    kind: str
    expires_at: datetime
    author: str
    former: str = ""
    values: tuple[str, ...] = ("",)
    overdue: bool = False

    @property
    def deadline(self) -> str:
        """The deadline in ISO 8601."""
        return self.expires_at.isoformat(timespec="seconds")

    @property
    def text(self) -> str:
        return dump_json({"until": self.deadline, "who": self.author, "former": self.former, "values": self.values})

    @property
    def value(self) -> str:
        """The value that was set last."""
        return self.values[-1]

    @property
    def description(self) -> str:
        deadline_text = f"{'overdue since' if self.overdue else 'until'} {self.expires_at:%Y-%m-%d %H:%M UTC}"
        if self.kind in WITHOUT_VALUES:
            return f"{WITHOUT_VALUES[self.kind]}, temporary, {deadline_text}"
        before = format_setting(self.kind, self.former)
        return (
            f"{KINDS[self.kind]} {format_setting(self.kind, self.value)}, temporary, {deadline_text} (before: {before})"
        )


def format_setting(kind: str, value: str) -> str:
    return f"{value or 'none'}{UNITS.get(kind, '')}"


def parse_mark(node: str, kind: str, text: str, current_time: datetime) -> Mark | None:
    """Parse a mark, or return None where the text has another shape."""
    try:
        document = load_json(text)
        expires_at, former_values, values = (
            datetime.fromisoformat(document["until"]),
            document["former"],
            document["values"],
        )
        is_valid = isinstance(values, list) and all(
            VALUES[kind].fullmatch(candidate) for candidate in (former_values, *values)
        )
        mark = Mark(
            node, kind, expires_at, str(document["who"]), former_values, tuple(values), expires_at < current_time
        )
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return mark if is_valid and values and expires_at.tzinfo else None


def parse_mark_texts(answer: Answer) -> Mapping[tuple[str, str], str]:
    """Parse the texts of annotations, by node and kind."""
    annotations = {
        entry["metadata"]["name"]: entry["metadata"].get("annotations") or {} for entry in list_objects(answer)
    }
    return {
        (node, kind): str(texts[PREFIX + kind])
        for node, texts in annotations.items()
        for kind in KINDS
        if PREFIX + kind in texts
    }


ANNOTATION_FIELDS = tuple("metadata.annotations." + PREFIX.replace(".", r"\.") + mark_kind for mark_kind in KINDS)
MARKS = Probe("gpu.temporary", Api("/api/v1/nodes", ("metadata.name", *ANNOTATION_FIELDS)), parse_mark_texts)
