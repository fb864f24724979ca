"""What a reset took and what is left, as one JSON document. A field is only ever added within a version."""

from dataclasses import dataclass

from gpustack.report.codes import reset_code
from gpustack.report.json import document, ending
from gpustack.report.removal.text import after_reset
from gpustack.report.schema import ExitShape
from gpustack.rollout.plan import Played
from gpustack.rollout.removal import HostRemoval, Removal
from gpustack.rollout.reset import ResetOutcome

RESET = "gpustack/reset/v1"


@dataclass(frozen=True)
class HostResetShape:
    """`found` was there before, `left` is there now: by step, as people write it; `node`, `holds` and `packages` too.
    `unknown` could not be checked now, `kept` is what is kept on purpose. Null for nothing, or unknown (pods)."""

    name: str
    cluster: str | None
    foreign: str | None
    pods: list[str] | None
    found: dict[str, list[str]]
    left: dict[str, list[str]]
    unknown: list[str]
    kept: list[str]


@dataclass(frozen=True)
class ResetShape:
    """Of `reset`. `played` is null when nothing was played, `evidence` is a folder, `next` a command."""

    schema: str
    exit: ExitShape
    seconds: float
    hosts: list[HostResetShape]
    unreached: list[str]
    played: Played | None
    stopped: str | None
    evidence: str | None
    next: str | None


def nothing(found: Removal) -> str:
    took = found.snapshot.took
    return text(ResetOutcome(found, None, found, took), "")


def text(done: ResetOutcome, evidence: str) -> str:
    after = {one.host: one for one in done.after.hosts}
    shape = ResetShape(
        schema=RESET,
        exit=ending(reset_code(done)),
        seconds=done.seconds,
        hosts=[host(one, after.get(one.host, one)) for one in done.before.hosts],
        unreached=list(done.after.unreached),
        played=done.played,
        stopped=done.stopped or None,
        evidence=evidence or None,
        next=after_reset(done) or None,
    )
    return document(shape, done.before.snapshot.inventory)


def host(before: HostRemoval, after: HostRemoval) -> HostResetShape:
    return HostResetShape(
        name=before.host,
        cluster=before.cluster or None,
        foreign=before.foreign or None,
        pods=None if before.pods is None else list(before.pods),
        found=things(before),
        left=things(after),
        unknown=list(after.unknown),
        kept=list(after.stays),
    )


def things(one: HostRemoval) -> dict[str, list[str]]:
    found = {step: [str(trace) for trace in traces] for step, traces in one.traces}
    beside = {"node": [one.node] if one.node else [], "holds": list(one.holds), "packages": list(one.packages)}
    return found | {name: names for name, names in beside.items() if names}
