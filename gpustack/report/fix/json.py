"""A fix and an undo as one JSON document each. A field is only ever added within a version. Ids are those of the
catalogue; `location` is a host or @cluster."""

from dataclasses import dataclass
from typing import cast

from gpustack.config.inventory import Inventory
from gpustack.doctor.entry import Auto
from gpustack.remedy.copies import Kept
from gpustack.remedy.fixed import Attempt, Ending, Fixed
from gpustack.remedy.undo import Undone
from gpustack.report.codes import FIXED, fix_code
from gpustack.report.doctor.json import root
from gpustack.report.doctor.shape import RootShape
from gpustack.report.json import document
from gpustack.report.schema import ExitCode, ExitShape
from gpustack.rollout.next import command
from gpustack.rollout.plan import Played

FIX, UNDO = "gpustack/fix/v1", "gpustack/undo/v1"


@dataclass(frozen=True)
class KeptShape:
    """What is another now on a host: paths, and units and kernel parameters as `name before -> after`."""

    host: str
    files: list[str]
    units: list[str]
    keys: list[str]


@dataclass(frozen=True)
class AttemptShape:
    """`played` is null when nothing was played, `reason` when there is no more to say. `undone` was rolled back as it
    did not resolve the fault; `remaining` are symptoms that were still there."""

    id: str
    locations: list[str]
    auto: Auto
    ending: Ending
    play: str | None
    hosts: list[str]
    commands: list[str]
    interrupts: str | None
    played: Played | None
    kept: list[KeptShape]
    undone: list[str]
    remaining: list[str]
    reason: str | None
    seconds: float


@dataclass(frozen=True)
class FixedShape:
    """Of `doctor --fix`. `found` are the roots before, `roots` those after. `undo` is the command that rolls it back,
    or null where nothing was changed."""

    schema: str
    exit: ExitShape
    healthy: bool
    seconds: float
    found: list[str]
    attempts: list[AttemptShape]
    roots: list[RootShape]
    unexplained: list[str]
    stopped: str | None
    evidence: str | None
    undo: str | None


@dataclass(frozen=True)
class UndoneShape:
    """Of `doctor --undo`: what was put back, in words."""

    schema: str
    exit: ExitShape
    id: str
    fault: str
    hosts: list[str]
    did: list[str]
    seconds: float
    evidence: str | None


def text(done: Fixed, evidence: str) -> str:
    inventory, code = done.after.snapshot.inventory, fix_code(done)
    stays = any(one.tried and one.ending != "not-resolved" for one in done.attempts)
    return document(
        FixedShape(
            schema=FIX,
            exit=ExitShape(cast("ExitCode", code), FIXED[code]),
            healthy=done.after.healthy,
            seconds=done.seconds,
            found=[one.id for one in done.before.roots],
            attempts=[attempt(one) for one in done.attempts],
            roots=[root(one, done.after, verbose=False) for one in done.after.roots],
            unexplained=[one.id for one in done.after.unexplained],
            stopped=done.stopped or None,
            evidence=evidence or None,
            undo=command("doctor --undo", inventory) if stays else None,
        ),
        inventory,
    )


def attempt(one: Attempt) -> AttemptShape:
    return AttemptShape(
        id=one.offer.id,
        locations=list(one.offer.finding.locations),
        auto=one.offer.fault.auto,
        ending=one.ending,
        play=one.offer.play or None,
        hosts=list(one.offer.hosts),
        commands=list(one.offer.commands),
        interrupts=one.offer.interrupts or None,
        played=one.played,
        kept=[kept(entry) for entry in one.kept],
        undone=list(one.undone),
        remaining=list(one.remaining),
        reason=one.why or None,
        seconds=one.seconds,
    )


def kept(one: Kept) -> KeptShape:
    files = [f"/{path}" for path in one.files]
    return KeptShape(one.host, files, list(one.units), list(one.keys))


def undone(done: Undone, inventory: Inventory, evidence: str) -> str:
    return document(
        UndoneShape(
            schema=UNDO,
            exit=ExitShape(0, "the last fix was rolled back"),
            id=done.last.id,
            fault=done.last.fault,
            hosts=list(done.last.hosts),
            did=list(done.did),
            seconds=done.seconds,
            evidence=evidence or None,
        ),
        inventory,
    )
