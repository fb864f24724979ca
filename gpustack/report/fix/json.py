"""A fix and an undo as one JSON document each. A field is only ever added within a version. Ids are those of the
catalogue."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gpustack.command import NO_HINT
from gpustack.config.inventory import Inventory
from gpustack.doctor.entry import Auto
from gpustack.remedy.fixed import Ending, Fixed
from gpustack.remedy.undo import Rollback
from gpustack.report.codes import FIXED, fix_code
from gpustack.report.doctor.json import root
from gpustack.report.doctor.shape import Root
from gpustack.report.document import document, ending
from gpustack.report.schema import Document, Folder, Location, Seconds, Shape, Stopped, TextOrNull, take
from gpustack.rollout.next import build_command
from gpustack.rollout.plan import Played

Left = Annotated[str, BeforeValidator(str)]


class Changes(Shape):
    """What the fix changed on a host: paths, and units and kernel parameters as `name before -> after`."""

    host: str
    files: list[str]
    units: list[str]
    keys: list[str]


class Attempt(Shape):
    """The fix of one root cause and its result, `ending`. `play` is its playbook and `commands` do the same by hand;
    `interrupts` is what does not work meanwhile. `played` is null when nothing was played. `kept` is what it changed,
    `undone` what was rolled back because the fault was not resolved, and `left` what stays, as others had changed it
    meanwhile; `remaining` are symptoms that were still there."""

    id: str = take("offer", "id")
    locations: list[Location] = take("offer", "finding", "locations")
    auto: Auto = take("offer", "fault", "auto")
    ending: Ending
    play: TextOrNull = take("offer", "play")
    hosts: list[str] = take("offer", "hosts")
    commands: list[str] = take("offer", "commands")
    interrupts: TextOrNull = take("offer", "interrupts")
    played: Played | None
    kept: list[Changes] = take("records")
    undone: list[str]
    left: list[Left]
    remaining: list[str]
    reason: TextOrNull = take("why")
    seconds: Seconds


class FixDocument(Document):
    """Result of `gpustack doctor --fix`. `found` are the root causes before, `roots` those after. `undo` is the command
    that rolls it back, null when nothing was changed."""

    kind: Literal["gpustack/fix/v1"] = Field("gpustack/fix/v1", alias="schema")
    healthy: bool
    seconds: Seconds
    found: list[str]
    attempts: list[Attempt]
    roots: list[Root]
    unexplained: list[str]
    stopped: Stopped
    evidence: Folder
    undo: TextOrNull


class UndoDocument(Document):
    """Result of `gpustack doctor --undo`: which fix (`id`) of which fault was rolled back, what that restored, and what
    stays because it was changed since (`left`)."""

    kind: Literal["gpustack/undo/v1"] = Field("gpustack/undo/v1", alias="schema")
    id: str
    fault: str
    hosts: list[str]
    did: list[str]
    left: list[Left]
    seconds: Seconds
    evidence: Folder


def text(done: Fixed, evidence: str) -> str:
    inventory = done.after.snapshot.inventory
    stays = any(one.stays for one in done.attempts)
    values = {
        **vars(done),
        "exit": ending(fix_code(done), FIXED),
        "healthy": done.after.healthy,
        "found": [one.id for one in done.before.roots],
        "roots": [root(one, done.after, verbose=False) for one in done.after.roots],
        "unexplained": [one.id for one in done.after.unexplained],
        "evidence": evidence,
        "undo": build_command(inventory, "doctor", "--undo") if stays else NO_HINT,
    }
    return document(FixDocument, values, inventory)


def undone(done: Rollback, inventory: Inventory, evidence: str) -> str:
    fix, done_now = done.fix, ending(0, {0: "the last fix was rolled back"})
    values = {
        **vars(done),
        "exit": done_now,
        "id": fix.id,
        "fault": fix.fault,
        "hosts": fix.hosts,
        "evidence": evidence,
    }
    return document(UndoDocument, values, inventory)
