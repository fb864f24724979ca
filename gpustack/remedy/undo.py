"""The roll-back of a fix: what is still as the fix left it becomes as it was before; everything else stays.

It is the same whether a fix did not help a moment ago, or a person asks for it days later.
"""

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpustack.command import NO_HINT, Command, Hint, Prose
from gpustack.doctor.graph import graph
from gpustack.errors import RolloutError
from gpustack.events import Event, Reporter
from gpustack.ownership.record import ABSENT
from gpustack.remedy.copies import Copies
from gpustack.remedy.objects import ObjectChange
from gpustack.remedy.records import FOLDER, Change, HostRecord, keep_declared
from gpustack.remedy.step_scope import bound_scope, may_change_objects


@dataclass(frozen=True)
class LastFix:
    """A fix that can be rolled back: its records, by host, and the objects of the cluster that it may have changed."""

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
        return tuple(one.host for one in self.records)

    @property
    def changes(self) -> tuple[Change, ...]:
        return (*(change for record in self.records for change in record.changes), *self.objects)

    @property
    def restorable(self) -> tuple[Change, ...]:
        return tuple(one for one in self.changes if one.is_restorable)

    @property
    def left(self) -> tuple[Change, ...]:
        return tuple(one for one in self.changes if one.is_left)


@dataclass(frozen=True)
class Remainder:
    """A thing that stays as it is: why, in words, and the command on its host that shows the difference."""

    text: str
    comparison: Hint = NO_HINT

    def __str__(self) -> str:
        return f"{self.text}; compare: {self.comparison}" if self.comparison else self.text


@dataclass(frozen=True)
class Rollback:
    """The result: `did` is what was restored, in words, and `left` what was not, each with its host."""

    fix: LastFix
    did: tuple[str, ...]
    left: tuple[Remainder, ...] = ()
    seconds: float = 0.0


def find_last_fix(copies: Copies, reached: Sequence[str]) -> LastFix:
    """Find the newest fix. Raises RolloutError: there is none; a host of it cannot be asked; all of it was changed."""
    found = [record for name in reached if (record := copies.read(name))]
    if not found:
        why = "No host that was reached keeps the copies of one."
        raise RolloutError("undo-nothing", "There is no fix to roll back.", why, NO_HINT)
    newest = max(record.id for record in found)
    records = [record for record in found if record.id == newest]
    if missing := sorted({name for record in records for name in record.hosts} - {one.host for one in records}):
        why = f"It also changed {', '.join(missing)}, which cannot be reached or has no backups any more."
        hint = Command("gpustack", "explain", "undo-host-missing")
        raise RolloutError("undo-host-missing", f"The fix of {records[0].fault} is on more hosts.", why, hint)
    fix = read_objects(copies, records)
    if fix.left and not fix.restorable:
        message = f"What the fix of {fix.fault} left was changed since; nothing was restored."
        why = "\n".join(str(describe_left(one, fix.id)) for one in fix.left)
        raise RolloutError("undo-changed-since", message, why, Command("gpustack", "explain", "undo-changed-since"))
    return fix


def find_fix(copies: Copies, id: str, hosts: Iterable[str]) -> LastFix:
    """Find the fix that has just been made. Raises RolloutError where a host has no record of it."""
    records = [copies.read(name, id) for name in hosts]
    known = [record for record in records if record]
    if len(known) < len(records):
        raise RolloutError("undo-nothing", "There is no fix to roll back.", "A host has no record of it.", NO_HINT)
    return read_objects(copies, known)


def read_objects(copies: Copies, records: Sequence[HostRecord]) -> LastFix:
    fault = graph().faults.get(records[0].fault)
    scope = bound_scope(fault)
    declared = tuple(keep_declared(record, scope) for record in records)
    read = copies.read_objects if may_change_objects(fault) else lambda _: ()
    return LastFix(declared, tuple(change for record in declared for change in read(record)))


def roll_back(copies: Copies, fix: LastFix, report: Reporter) -> Rollback:
    """Restore what may be restored: of the cluster first, since what goes back on a host may take the API with it.

    The copies of a host are removed if it needs none any more, and else kept for a person to compare.
    """
    started = time.monotonic()
    report(Event("step", "undo", f"{fix.fault} on {', '.join(fix.hosts)}"))
    did: list[str] = []
    used = {one.host for one in fix.left}
    left = [describe_left(one, fix.id) for one in fix.left]
    for record in fix.records:
        objects = [one for one in fix.objects if one.host == record.host and one.is_restorable]
        refused = copies.replace(record, objects) if objects else []
        did += [
            f"{one.host}: {'restored' if one.before else 'removed'} {one.record.name}"
            for one in objects
            if one not in refused
        ]
        left += [Remainder(f"{one} stays: it was changed at this moment") for one in refused]
        used |= {one.host for one in refused}
    for record in fix.records:
        for line in copies.restore(record, record.changes):
            word, name, thing, why = (line.split("\t") + 3 * [""])[:4]
            if word == "did":
                did.append(f"{record.host}: {name}")
            elif word == "kept":
                kept = Prose("what was there is kept: {}", f"{FOLDER}/{fix.id}/after{name}")
                did.append(f"{record.host}: {kept}")
                used.add(record.host)
            else:
                left.append(Remainder(f"{record.host}: {thing} stays: {why}"))
                used.add(record.host)
    for name in fix.hosts:
        (copies.close if name in used else copies.forget)(name, fix.id)
    for line in (*did, *map(str, left)):
        report(Event("note", "undo", line))
    report(Event("done", "undo", ""))
    return Rollback(fix, tuple(did), tuple(left), time.monotonic() - started)


def describe_left(change: Change, id: str) -> Remainder:
    """Describe what stays: why, and both states."""
    left, actual = shorten(change.record.after), shorten(change.actual or "unknown")
    states = f" (the fix left {left}; it is {actual})" if change.record.after else ""
    return Remainder(f"{change} stays: {change.reason}{states}", find_comparison(change, id))


def shorten(state: str) -> str:
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
