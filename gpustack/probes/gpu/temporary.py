"""What gpustack has changed on GPUs of nodes for a time: an annotation of the node for each kind of change, with the
deadline and the values before it. Others may write annotations too: what is not of this shape is no mark, and a mark
holds values alone, never a command.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.json_text import dump_json, load_json
from gpustack.probes.kubernetes.nodes import entries

PREFIX = "gpustack.io/temporary-"
PROFILING, POLICY, POWER_LIMIT, CLOCKS, LOAD = "profiling", "policy", "power-limit", "clocks", "load"
KINDS = {PROFILING: "profiling", POLICY: "policy", POWER_LIMIT: "power limit", CLOCKS: "clocks", LOAD: "load"}
"""What people call them."""
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
"""As they are described."""
UNITS = {POWER_LIMIT: " W", CLOCKS: " MHz"}


@dataclass(frozen=True)
class Mark:
    """Of one kind on one node. `values` were set until the deadline, the last one by `who`; each may be in force, for a
    change can be broken off. `former` is what was in force before all of them. `overdue` is not written down."""

    node: str
    what: str
    until: datetime
    who: str
    former: str = ""
    values: tuple[str, ...] = ("",)
    overdue: bool = False

    @property
    def deadline(self) -> str:
        """ISO 8601."""
        return self.until.isoformat(timespec="seconds")

    @property
    def text(self) -> str:
        return dump_json({"until": self.deadline, "who": self.who, "former": self.former, "values": self.values})

    @property
    def value(self) -> str:
        """What was set last."""
        return self.values[-1]

    @property
    def described(self) -> str:
        when = f"{'overdue since' if self.overdue else 'until'} {self.until:%Y-%m-%d %H:%M UTC}"
        if self.what in WITHOUT_VALUES:
            return f"{WITHOUT_VALUES[self.what]}, temporary, {when}"
        before = with_unit(self.what, self.former)
        return f"{KINDS[self.what]} {with_unit(self.what, self.value)}, temporary, {when} (before: {before})"


def with_unit(what: str, value: str) -> str:
    return f"{value or 'none'}{UNITS.get(what, '')}"


def read_mark(node: str, what: str, text: str, now: datetime) -> Mark | None:
    """None for what is not of this shape."""
    try:
        found = load_json(text)
        until, former, values = datetime.fromisoformat(found["until"]), found["former"], found["values"]
        known = isinstance(values, list) and all(VALUES[what].fullmatch(one) for one in (former, *values))
        mark = Mark(node, what, until, str(found["who"]), former, tuple(values), until < now)
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return mark if known and values and until.tzinfo else None


def marks(answer: Answer) -> Mapping[tuple[str, str], str]:
    """The texts of annotations, by node and kind."""
    found = {entry["metadata"]["name"]: entry["metadata"].get("annotations") or {} for entry in entries(answer)}
    return {
        (node, what): str(texts[PREFIX + what])
        for node, texts in found.items()
        for what in KINDS
        if PREFIX + what in texts
    }


KEPT = tuple("metadata.annotations." + PREFIX.replace(".", r"\.") + what for what in KINDS)
MARKS = Probe("gpu.temporary", Api("/api/v1/nodes", ("metadata.name", *KEPT)), marks)
