"""Records that a fix leaves on a host, and the decision about each change in them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gpustack.errors import RolloutError
from gpustack.ownership.decision import MAY_CHANGE, Decision, decide
from gpustack.ownership.record import ABSENT, Record
from gpustack.remedy.scope import PRESENT, Scope

EMPTY, UNREAD = "-", "unknown"
ID = re.compile(r"[0-9][0-9TZ.]*")
# The number of words in a line of the record, of the reason why there is none, and of a thing.
NAME_WORDS, FAULT_WORDS, RESOURCE_WORDS = 2, 3, 7
# Changes that can be restored: a unit that was absent is disabled while its file is still there.
STARTUPS = {("disabled", "enabled"), ("enabled", "disabled"), (ABSENT, "enabled")}
FOLDER = "/var/lib/gpustack-cluster/fixes"


@dataclass(frozen=True)
class Change:
    """Hold a thing that a fix may have changed on a host: its record, its present state and what may be done about it.

    `actual` is None where the state could not be read. `is_guess` is true where the content that the remedy writes is
    not known.
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
    def is_remaining(self) -> bool:
        """Tell whether it differs from before the fix, and stays so."""
        return not self.is_restorable and self.decision != Decision.FORGET

    @property
    def obstacle(self) -> str:
        """Return why a thing that is as the fix left it cannot be restored, or an empty text if it can be."""
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
        return tuple(change.record.name for change in self.list_changes("file", "folder"))

    @property
    def units(self) -> tuple[str, ...]:
        return tuple(describe_change(change) for change in self.list_changes("unit", "startup"))

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(describe_change(change) for change in self.list_changes("key"))

    def list_changes(self, *kinds: str) -> list[Change]:
        """List the changes of these kinds that the fix made, or may have made if it is not finished."""
        return [
            change
            for change in self.changes
            if change.record.kind in kinds and (change.record.after or change.actual) != change.record.before
        ]


def describe_change(change: Change) -> str:
    return f"{change.record.name} {change.record.before} -> {change.record.after or change.actual or UNREAD}"


def parse_record(host: str, lines: Iterable[str]) -> HostRecord:
    """Parse what copies.sh prints about a record, and decide about each thing. Raise RolloutError where the record
    cannot be used; nothing is restored then."""
    rows = [line.split("\t") for line in lines]
    for word, folder, reason in (line for line in rows if len(line) == FAULT_WORDS):
        if word == "unreadable":
            raise RolloutError("undo-record-unreadable", f"The record {folder} on {host} cannot be used.", reason)
    words = {line[0]: line[1] for line in rows if len(line) == NAME_WORDS}
    resource_lines = [line for line in rows if line[0] == "thing"]
    if not ID.fullmatch(words.get("id", "")) or any(len(line) != RESOURCE_WORDS for line in resource_lines):
        raise RolloutError("fix-copies", f"{host} answered with a record of another shape.")
    changes = tuple(parse_resource(host, line[1:]) for line in resource_lines)
    hosts = tuple(words.get("hosts", "").split())
    return HostRecord(host, words["id"], words.get("fault", ""), hosts, words.get("state") == "finished", changes)


def parse_resource(host: str, words: Sequence[str]) -> Change:
    kind, name, before, after, states, actual = words
    possible = () if states == EMPTY else tuple(states.split("|"))
    return judge_resource(host, Record(kind, name, before, "" if after == EMPTY else after), actual, possible)


def judge_resource(host: str, record: Record, actual: str, possible: Sequence[str] = ()) -> Change:
    """Decide about a thing. `possible` are the states in which the remedy can leave it, empty if that is unknown.

    A thing that the fix left unchanged is none of its changes, even if it changed since. A state after the fix in which
    the remedy cannot leave a thing comes from another writer.
    """
    if record.after and record.after == record.before:
        return Change(host, record, actual, Decision.FORGET)
    intended_state = actual if actual in possible else ""
    state = None if actual == UNREAD else actual
    decision = decide(record, state, intended_state)
    if decision in MAY_CHANGE and record.after and not is_possible(record, possible):
        decision = Decision.LATER_CHANGE
    return Change(host, record, state, decision, actual not in possible)


def is_possible(record: Record, possible: Sequence[str]) -> bool:
    """Tell whether a remedy can have left a thing in its recorded state. No remedy makes a link."""
    after = record.after
    if record.kind == "file" and after != ABSENT and not after.startswith("file "):
        return False
    return not possible or after in possible or (PRESENT in possible and after != ABSENT)


def keep_declared(record: HostRecord, scope: Scope) -> HostRecord:
    """Mark what a host's record names and the remedy's declaration does not as foreign, so that it stays."""
    changes = (
        change if scope.covers(change.record.kind, change.record.name) else replace(change, decision=Decision.FOREIGN)
        for change in record.changes
    )
    return replace(record, changes=tuple(changes))


def order_changes(changes: Iterable[Change]) -> list[Change]:
    """Order changes so that they can be made: units that stop, folders that come back, files, folders that go, the
    rest. A folder comes back only for a file that comes back."""
    restorable = [change for change in changes if change.is_restorable]
    files = [change for change in restorable if change.record.kind == "file"]
    folders = [change for change in restorable if change.record.kind == "folder"]
    created_folders = [folder for folder in folders if folder.record.before == ABSENT]
    needed_folders = [
        folder
        for folder in folders
        if folder not in created_folders
        and (folder.actual != ABSENT or any(file.record.name.startswith(f"{folder.record.name}/") for file in files))
    ]
    other_changes = [change for change in restorable if change.record.kind not in ("file", "folder")]
    stopping_changes = [
        change for change in other_changes if change.record.kind in ("unit", "startup") and is_turned_off(change.record)
    ]
    rest = [change for change in other_changes if change not in stopping_changes]
    ordered_folders = sorted(needed_folders, key=lambda needed_folder: needed_folder.record.name)
    return [
        *stopping_changes,
        *ordered_folders,
        *files,
        *sorted(created_folders, key=lambda created_folder: created_folder.record.name, reverse=True),
        *rest,
    ]


def is_turned_off(record: Record) -> bool:
    return record.before not in ("active", "enabled")
