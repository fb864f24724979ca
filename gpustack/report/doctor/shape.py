"""The shape of `gpustack doctor -o json`: the part of the output that scripts may rely on. A field is only ever added
within a version. Ids are those of the catalogue and do not change.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from gpustack.ask.judge import Outcome
from gpustack.doctor.entry import Auto
from gpustack.doctor.finding import Certainty
from gpustack.doctor.graph import graph
from gpustack.doctor.peers import Peers
from gpustack.report.schema import (
    Document,
    Evidence,
    Host,
    Location,
    Seconds,
    Shape,
    Source,
    TextOrNull,
    Time,
    optional,
    take,
)


def find_title(before: dict[str, Any]) -> str:
    """Of what has the id that stands before it."""
    return graph()[before["id"]].title


Title = Annotated[str, Field(default_factory=find_title)]


class Judged(Shape):
    """A fault or symptom, judged at one location: `failed` is confirmed, `ok` refuted. `what` to `found` are null where
    it is unknown, and `reason` says why; `expected` is null also where it was refuted. Without -v, only what is
    confirmed as a root cause, or not explained, has evidence."""

    id: str
    location: Location = take("where")
    title: Title
    outcome: Outcome
    what: str | None = optional("result", "what")
    expected: TextOrNull = optional("result", "expected")
    found: str | None = optional("result", "found")
    reason: TextOrNull = take("why")
    evidence: list[Evidence]


class Fix(Shape):
    """What resolves the fault: in words (`do`) and as commands. `auto`: `gpustack doctor --fix` does it after one
    confirmation for all (`safe`), after its own (`ask`) or not at all (`no`), for this `reason`. `step` is the step of
    `gpustack install` that repairs it, else null."""

    auto: Auto
    reason: str
    do: str
    commands: list[str]
    step: TextOrNull


class Branch(Shape):
    """A confirmed fault, and in `branches` what it led to."""

    id: str
    title: Title
    locations: list[Location]
    branches: list["Branch"]


class Change(Shape):
    """What changed on a host, so many seconds before it was asked, by its own clock."""

    location: Location = take("where")
    seconds_ago: int = take("ago")
    what: str


class Root(Shape):
    """A root cause, with all `locations` where it is confirmed. `correlated` are root causes with the same origin,
    which `correlation` names. `changed` is what changed on its first ten hosts within a day, `healthy_hosts` are those
    on which the same check found no fault. `ruled_out` are other causes that were refuted, `uncertain` those that are
    unknown. `impact` is what it explains; of that, `caused` are faults of their own. `hidden_checks` is the number of
    checks that are unknown because of it. `explain` is the command that prints its page."""

    id: str
    layer: str
    title: Title
    cause: str
    certainty: Certainty
    locations: list[Location]
    judged: list[Judged]
    correlated: list[Judged]
    correlation: TextOrNull
    changed: list[Change]
    healthy_hosts: list[Peers]
    ruled_out: list[Judged]
    impact: list[Judged]
    caused: list[Judged]
    uncertain: list[Judged]
    chain: Branch | None
    hidden_checks: int
    fix: Fix
    explain: str


class Unexplained(Shape):
    """A confirmed symptom without a confirmed cause. `suspects` are causes that are unknown, `ruled_out` those that
    were refuted. `next_check` is the command to type next."""

    id: str
    title: Title
    locations: list[Location]
    judged: list[Judged]
    suspects: list[Judged]
    ruled_out: list[Judged]
    impact: list[Judged]
    next_check: str = take("ask")


class Drift(Shape):
    """A check of a step that differs and confirms no fault."""

    step: str
    check: str
    locations: list[Location]
    what: str = take("result", "what")
    expected: str = take("result", "expected")
    found: str = take("result", "found")


class DoctorDocument(Document):
    """Result of `gpustack doctor`. `notes` are true and harmless. `judged` is what is confirmed or unknown; with -v,
    all that was judged. `unchecked` faults of the catalogue have no check yet."""

    kind: Literal["gpustack/doctor/v1"] = Field("gpustack/doctor/v1", alias="schema")
    healthy: bool
    taken: Time
    seconds: Seconds
    probes: int
    inventory: Source
    hosts: list[Host]
    roots: list[Root]
    unexplained: list[Unexplained]
    notes: list[Judged]
    drift: list[Drift]
    judged: list[Judged]
    unchecked: int
