"""The record that a fix leaves on a host, and the decision about each thing in it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gpustack.command import NO_HINT, Command
from gpustack.errors import RolloutError
from gpustack.ownership.decision import MAY_CHANGE, Decision, decide
from gpustack.ownership.record import ABSENT, Record
from gpustack.remedy.scope import PRESENT, Scope

EMPTY, UNREAD = "-", "unknown"
ID = re.compile(r"[0-9][0-9TZ.]*")
# Words of a line: of the record, of a reason why there is none, and of a thing.
NAMED, SPOILT, THING = 2, 3, 7
# What can be turned back: a unit that was not there is disabled while its file is still there.
STARTUPS = {("disabled", "enabled"), ("enabled", "disabled"), (ABSENT, "enabled")}
FOLDER = "/var/lib/gpustack-cluster/fixes"


@dataclass(frozen=True)
class Change:
    """A thing that a fix may have changed on a host: its record, its present state and what may be done about it.

    `actual` is None where the state could not be read. It is a guess that the fix left it so, if the content that the
    remedy writes is not known.
    """

    host: str
    record: Record
    actual: str | None
    decision: Decision
    is_guess: bool = False

    @property
    def is_restorable(self) -> bool:
        return self.decision in MAY_CHANGE and not self.obstacle

    @property
    def is_left(self) -> bool:
        """Say whether it differs from before the fix, and stays so."""
        return not self.is_restorable and self.decision != Decision.FORGET

    @property
    def obstacle(self) -> str:
        """Say why a thing that is as the fix left it cannot be restored; empty if it can be."""
        kind, before, after = self.record.kind, self.record.before, self.record.after
        if kind == "key" and before == ABSENT:
            return "the kernel has it since, and a key cannot be removed"
        if kind == "startup" and (before, after) not in STARTUPS:
            return f"it was {before}"
        if kind == "file" and before != ABSENT and not before.startswith(("file ", "link ")):
            return "it was no file before, and has no copy"
        if kind == "file" and (self.actual or "").startswith(("folder ", "other")):
            return "it is no file"
        return ""

    @property
    def reason(self) -> str:
        return self.obstacle if self.decision in MAY_CHANGE else self.decision.value

    def __str__(self) -> str:
        kind, name = self.record.kind, self.record.name
        return f"{self.host}: {name if kind in ('file', 'folder') else f'{kind} {name}'}"


@dataclass(frozen=True)
class HostRecord:
    """Hold the changes of one fix on one host. It is unfinished if the fix was killed before it recorded the result."""

    host: str
    id: str
    fault: str = ""
    hosts: tuple[str, ...] = ()
    finished: bool = True
    changes: tuple[Change, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(one.record.name for one in self.list_changed("file", "folder"))

    @property
    def units(self) -> tuple[str, ...]:
        return tuple(describe_change(one) for one in self.list_changed("unit", "startup"))

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(describe_change(one) for one in self.list_changed("key"))

    def list_changed(self, *kinds: str) -> list[Change]:
        """List the changes of these kinds that the fix made, or may have made if it is not finished."""
        return [
            one
            for one in self.changes
            if one.record.kind in kinds and (one.record.after or one.actual) != one.record.before
        ]


def describe_change(change: Change) -> str:
    return f"{change.record.name} {change.record.before} -> {change.record.after or change.actual or UNREAD}"


def parse_record(host: str, lines: Iterable[str]) -> HostRecord:
    """Parse what copies.sh prints about a record, and decide about each thing.

    Raises RolloutError where the record cannot be used: nothing is restored then.
    """
    parsed = [line.split("\t") for line in lines]
    for word, folder, why in (line for line in parsed if len(line) == SPOILT):
        if word == "unreadable":
            hint = Command("gpustack", "explain", "undo-record-unreadable")
            raise RolloutError("undo-record-unreadable", f"The record {folder} on {host} cannot be used.", why, hint)
    words = {line[0]: line[1] for line in parsed if len(line) == NAMED}
    things = [line for line in parsed if line[0] == "thing"]
    if not ID.fullmatch(words.get("id", "")) or any(len(line) != THING for line in things):
        raise RolloutError("fix-copies", f"{host} answered with a record of another shape.", "", NO_HINT)
    changes = tuple(parse_thing(host, line[1:]) for line in things)
    hosts = tuple(words.get("hosts", "").split())
    return HostRecord(host, words["id"], words.get("fault", ""), hosts, words.get("state") == "finished", changes)


def parse_thing(host: str, words: Sequence[str]) -> Change:
    kind, name, before, after, rendered, actual = words
    possible = () if rendered == EMPTY else tuple(rendered.split("|"))
    return judge_thing(host, Record(kind, name, before, "" if after == EMPTY else after), actual, possible)


def judge_thing(host: str, record: Record, actual: str, possible: Sequence[str] = ()) -> Change:
    """Decide about a thing. `possible` are the states in which the remedy can leave it, empty if that is unknown.

    What the fix left as it was is none of its changes, whatever became of it. A state after the fix in which the
    remedy cannot leave a thing is somebody else's.
    """
    if record.after and record.after == record.before:
        return Change(host, record, actual, Decision.FORGET)
    rendered = actual if actual in possible else ""
    state = None if actual == UNREAD else actual
    decision = decide(record, state, rendered)
    if decision in MAY_CHANGE and record.after and not is_possible(record, possible):
        decision = Decision.CHANGED
    return Change(host, record, state, decision, actual not in possible)


def is_possible(record: Record, possible: Sequence[str]) -> bool:
    """Say whether a remedy can have left a thing in its recorded state. No remedy makes a link."""
    after = record.after
    if record.kind == "file" and after != ABSENT and not after.startswith("file "):
        return False
    return not possible or after in possible or (PRESENT in possible and after != ABSENT)


def keep_declared(record: HostRecord, scope: Scope) -> HostRecord:
    """Leave everything that a host's record names and the remedy's declaration does not."""
    changes = (
        one if scope.declares(one.record.kind, one.record.name) else replace(one, decision=Decision.FOREIGN)
        for one in record.changes
    )
    return replace(record, changes=tuple(changes))


def order_changes(changes: Iterable[Change]) -> list[Change]:
    """Put changes in the order in which they can be made: units that stop, folders that come back, files, folders that
    go, the rest. A folder comes back only for a file that comes back."""
    restorable = [one for one in changes if one.is_restorable]
    files = [one for one in restorable if one.record.kind == "file"]
    folders = [one for one in restorable if one.record.kind == "folder"]
    going = [one for one in folders if one.record.before == ABSENT]
    needed = [
        one
        for one in folders
        if one not in going
        and (one.actual != ABSENT or any(file.record.name.startswith(f"{one.record.name}/") for file in files))
    ]
    others = [one for one in restorable if one.record.kind not in ("file", "folder")]
    stopping = [one for one in others if one.record.kind in ("unit", "startup") and is_turned_off(one.record)]
    rest = [one for one in others if one not in stopping]
    ordered = sorted(needed, key=lambda one: one.record.name)
    return [*stopping, *ordered, *files, *sorted(going, key=lambda one: one.record.name, reverse=True), *rest]


def is_turned_off(record: Record) -> bool:
    return record.before not in ("active", "enabled")
