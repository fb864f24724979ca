"""The roll-back of a fix: a thing that is still as the fix left it becomes as it was before; all else stays.

It is the same whether a fix did not help a moment ago, or a person asks for it days later.
"""

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpustack.command import NO_HINT, Command, Hint, Prose
from gpustack.doctor.graph import load_graph
from gpustack.errors import RolloutError
from gpustack.events import Event, Reporter
from gpustack.ownership.record import ABSENT
from gpustack.remedy.copies import Copies
from gpustack.remedy.objects import ObjectChange
from gpustack.remedy.records import FOLDER, Change, HostRecord, keep_declared
from gpustack.remedy.step_scope import declare_fault, may_change_objects


@dataclass(frozen=True)
class LastFix:
    """Hold a fix that can be rolled back: its records, by host, and the objects of the cluster that it may have
    changed."""

    records: tuple[HostRecord, ...]
    objects: tuple[ObjectChange, ...] = ()

    @property
    def id(self) -> str:
        return self.records[0].id

    @property
    def fault(self) -> str:
        return self.records[0].fault

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(record.host for record in self.records)

    @property
    def changes(self) -> tuple[Change, ...]:
        return (*(change for record in self.records for change in record.changes), *self.objects)

    @property
    def restorable(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.is_restorable)

    @property
    def remaining_changes(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.is_remaining)


@dataclass(frozen=True)
class Remainder:
    """Describe a thing that stays as it is: why, in words, and the command on its host that shows the difference."""

    text: str
    comparison: Hint = NO_HINT

    def __str__(self) -> str:
        return f"{self.text}; compare: {self.comparison}" if self.comparison else self.text


@dataclass(frozen=True)
class Rollback:
    """Hold the result: `actions` says what was restored, in words, and `remainders` what was not, each with its
    host."""

    fix: LastFix
    actions: tuple[str, ...]
    remainders: tuple[Remainder, ...] = ()
    seconds: float = 0.0


def find_last_fix(copies: Copies, reached_hosts: Sequence[str]) -> LastFix:
    """Find the newest fix. Raise RolloutError where there is none, where a host of it cannot be asked, and where all of
    it was changed."""
    host_records = [record for name in reached_hosts if (record := copies.read(name))]
    if not host_records:
        reason = "No host that was reached keeps the copies of one."
        raise RolloutError("undo-nothing", "There is no fix to roll back.", reason)
    newest = max(record.id for record in host_records)
    records = [record for record in host_records if record.id == newest]
    if missing := sorted({name for record in records for name in record.hosts} - {record.host for record in records}):
        reason = f"It also changed {', '.join(missing)}, which cannot be reached or has no backups any more."
        raise RolloutError("undo-host-missing", f"The fix of {records[0].fault} is on more hosts.", reason)
    fix = read_objects(copies, records)
    if fix.remaining_changes and not fix.restorable:
        message = f"What the fix of {fix.fault} left was changed since; nothing was restored."
        reason = "\n".join(str(describe_remainder(change, fix.id)) for change in fix.remaining_changes)
        raise RolloutError("undo-changed-since", message, reason)
    return fix


def find_fix(copies: Copies, id: str, hosts: Iterable[str]) -> LastFix:
    """Find the fix that has just been made. Raise RolloutError where a host has no record of it."""
    records = [copies.read(name, id) for name in hosts]
    existing_records = [record for record in records if record]
    if len(existing_records) < len(records):
        raise RolloutError("undo-nothing", "There is no fix to roll back.", "A host has no record of it.", NO_HINT)
    return read_objects(copies, existing_records)


def read_objects(copies: Copies, records: Sequence[HostRecord]) -> LastFix:
    fault = load_graph().faults.get(records[0].fault)
    scope = declare_fault(fault)
    declared_records = tuple(keep_declared(record, scope) for record in records)
    read = copies.read_objects if may_change_objects(fault) else lambda _: ()
    return LastFix(declared_records, tuple(change for record in declared_records for change in read(record)))


def roll_back(copies: Copies, fix: LastFix, report: Reporter) -> Rollback:
    """Restore what may be restored: objects of the cluster first, because a restored host may end the API.

    The copies of a host are removed if it needs none any more, and else kept for a person to compare.
    """
    started_at = time.monotonic()
    report(Event("step", "undo", f"{fix.fault} on {', '.join(fix.hosts)}"))
    actions: list[str] = []
    hosts_with_copies = {change.host for change in fix.remaining_changes}
    remainders = [describe_remainder(change, fix.id) for change in fix.remaining_changes]
    for record in fix.records:
        objects = [change for change in fix.objects if change.host == record.host and change.is_restorable]
        refused_changes = copies.replace(record, objects) if objects else []
        actions += [
            f"{change.host}: {'restored' if change.before else 'removed'} {change.record.name}"
            for change in objects
            if change not in refused_changes
        ]
        remainders += [Remainder(f"{change} stays: it was changed at this moment") for change in refused_changes]
        hosts_with_copies |= {change.host for change in refused_changes}
    for record in fix.records:
        for line in copies.restore(record, record.changes):
            word, name, resource, reason = (line.split("\t") + 3 * [""])[:4]
            if word == "did":
                actions.append(f"{record.host}: {name}")
            elif word == "kept":
                note = Prose("what was there is kept: {}", f"{FOLDER}/{fix.id}/after{name}")
                actions.append(f"{record.host}: {note}")
                hosts_with_copies.add(record.host)
            else:
                remainders.append(Remainder(f"{record.host}: {resource} stays: {reason}"))
                hosts_with_copies.add(record.host)
    for name in fix.hosts:
        (copies.close if name in hosts_with_copies else copies.forget)(name, fix.id)
    for line in (*actions, *map(str, remainders)):
        report(Event("note", "undo", line))
    report(Event("done", "undo", ""))
    return Rollback(fix, tuple(actions), tuple(remainders), time.monotonic() - started_at)


def describe_remainder(change: Change, id: str) -> Remainder:
    """Describe what stays, with the reason and both states."""
    written_state, actual = shorten_digest(change.record.after), shorten_digest(change.actual or "unknown")
    states = f" (the fix left {written_state}; it is {actual})" if change.record.after else ""
    return Remainder(f"{change} stays: {change.reason}{states}", find_comparison(change, id))


def shorten_digest(state: str) -> str:
    """Cut the digest in a state to the part that people compare."""
    return re.sub(r"\b([0-9a-f]{12})[0-9a-f]{52}\b", r"\1", state)


def find_comparison(change: Change, id: str) -> Hint:
    record = change.record
    if isinstance(change, ObjectChange):
        return change.reader
    if record.kind != "file":
        return NO_HINT
    if record.before == ABSENT:
        return Command("ls", "-l", record.name)
    return Command("diff", "-u", f"{FOLDER}/{id}/before{record.name}", record.name)
