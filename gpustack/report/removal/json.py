"""What a reset took and what is left, as one JSON document. A field is only ever added within a version."""

from typing import Any, Literal

from pydantic import Field

from gpustack.report.codes import reset_code
from gpustack.report.document import document, ending
from gpustack.report.removal.text import after_reset
from gpustack.report.schema import Document, Folder, Next, Seconds, Shape, Stopped, TextOrNull
from gpustack.rollout.plan import Played
from gpustack.rollout.removal import HostRemoval, Removal
from gpustack.rollout.reset import ResetOutcome


class Host(Shape):
    """`found` was there before, `left` is there now, by step; also `node`, `holds` and `packages`. `unknown` could not
    be checked, `kept` stays on purpose, each with the reason. `cluster` is null outside a cluster, `foreign` (why it is
    not gpustack's to remove) when it is gpustack's, `pods` when they are unknown."""

    name: str
    cluster: TextOrNull
    foreign: TextOrNull
    pods: list[str] | None
    found: dict[str, list[str]]
    left: dict[str, list[str]]
    unknown: list[str]
    kept: list[str]


class ResetDocument(Document):
    """Result of `gpustack reset`. `unreached` are hosts that could not be checked; `played` is null when nothing was
    played."""

    kind: Literal["gpustack/reset/v1"] = Field("gpustack/reset/v1", alias="schema")
    seconds: Seconds
    hosts: list[Host]
    unreached: list[str]
    played: Played | None
    stopped: Stopped
    evidence: Folder
    next: Next


def nothing(found: Removal) -> str:
    took = found.snapshot.took
    return text(ResetOutcome(found, None, found, took), "")


def text(done: ResetOutcome, evidence: str) -> str:
    after = {one.host: one for one in done.after.hosts}
    values = {
        **vars(done),
        "exit": ending(reset_code(done)),
        "hosts": [host(one, after.get(one.host, one)) for one in done.before.hosts],
        "unreached": done.after.unreached,
        "evidence": evidence,
        "next": after_reset(done),
    }
    return document(ResetDocument, values, done.before.snapshot.inventory)


def host(before: HostRemoval, after: HostRemoval) -> dict[str, Any]:
    found = {"name": before.host, "found": things(before), "left": things(after), "kept": after.stays}
    return {**vars(before), **found, "unknown": after.unknown}


def things(one: HostRemoval) -> dict[str, list[str]]:
    found = {step: [str(trace) for trace in traces] for step, traces in one.traces}
    beside = {"node": [one.node] if one.node else [], "holds": list(one.holds), "packages": list(one.packages)}
    return found | {name: names for name, names in beside.items() if names}
