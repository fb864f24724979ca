"""The undo of the last fix: what it changed is as it was before it. Refused where somebody changed it since."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from gpustack.errors import RolloutError
from gpustack.events import Event, Reporter
from gpustack.remedy.copies import Copies, Kept
from gpustack.remedy.objects import Changed, changed, replacements


@dataclass(frozen=True)
class Last:
    """The newest fix there is on these hosts, and what it changed there. `objects` are those of the cluster."""

    kept: tuple[Kept, ...]
    objects: tuple[Changed, ...] = ()

    @property
    def id(self) -> str:
        return self.kept[0].id

    @property
    def fault(self) -> str:
        return self.kept[0].fault

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(one.host for one in self.kept)


@dataclass(frozen=True)
class Undone:
    """`did` is what was put back, in words, each with its host."""

    last: Last
    did: tuple[str, ...]
    seconds: float


def last(copies: Copies, reached: Sequence[str]) -> Last:
    """Raises RolloutError: there is none; a host of it cannot be asked; something of it was changed since."""
    found = [one for name in reached if (one := copies.last(name))]
    if not found:
        why = "No host that was reached keeps the copies of one."
        raise RolloutError("undo-nothing", "There is no fix to take back.", why, "")
    newest = max(one.id for one in found)
    kept = tuple(one for one in found if one.id == newest)
    if away := sorted({name for one in kept for name in one.hosts} - {one.host for one in kept}):
        why = f"It also changed {', '.join(away)}, which cannot be asked or has no copies any more."
        raise RolloutError("undo-host-missing", f"The fix of {kept[0].fault} is on more hosts.", why, "gpustack doctor")
    objects = changed(documents) if (documents := copies.objects(kept[0].host, newest)) else ()
    moved = [f"{one.host}: /{path}" for one in kept for path in one.moved]
    if moved := [*moved, *(str(one) for one in objects if one.moved)]:
        message = f"What the fix of {kept[0].fault} left was changed since; nothing was put back."
        raise RolloutError("undo-changed-since", message, "\n".join(moved), "gpustack explain undo-changed-since")
    return Last(kept, objects)


def put_back(copies: Copies, id: str, hosts: Sequence[str]) -> list[str]:
    """Of the cluster first: what goes back on a host may take the API with it. Then there are no copies any more."""
    did = []
    for name in hosts:
        if documents := copies.objects(name, id):
            found = changed(documents)
            copies.replace(name, replacements(found))
            did += [f"{name}: put back {one}" for one in found]
    for name in hosts:
        did += [f"{name}: {line}" for line in copies.undo(name, id)]
    for name in hosts:
        copies.forget(name, id)
    return did


def undo(copies: Copies, found: Last, report: Reporter) -> Undone:
    started = time.monotonic()
    report(Event("step", "undo", f"{found.fault} on {', '.join(found.hosts)}"))
    done = tuple(put_back(copies, found.id, found.hosts))
    for line in done:
        report(Event("note", "undo", line))
    report(Event("done", "undo", ""))
    return Undone(found, done, time.monotonic() - started)
