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
from gpustack.report.schema import Document, Evidence, Host, Location, Seconds, Shape, TextOrNull, Time, optional, take


def find_title(before: dict[str, Any]) -> str:
    """Of what has the id that stands before it."""
    return graph()[before["id"]].title


Title = Annotated[str, Field(default_factory=find_title)]


class Judged(Shape):
    """`what` to `found` are null where it is unknown, `expected` also where it was refuted; then `reason` says what is
    missing. Root causes have evidence, and with -v all do."""

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
    """`auto`: safe, ask or no, and the `reason` of it. `step` of `gpustack install` repairs it, or is null."""

    auto: Auto
    reason: str
    do: str
    commands: list[str]
    step: TextOrNull


class Branch(Shape):
    id: str
    title: Title
    locations: list[Location]
    branches: list["Branch"]


class Change(Shape):
    """`seconds_ago`: before the host was asked, by its own clock."""

    location: Location = take("where")
    seconds_ago: int = take("ago")
    what: str


class Root(Shape):
    """`correlated` are root causes of the same act, which `correlation` names; `caused` is the part of `impact` that
    are faults of their own, probably its doing. `hidden_checks` checks need its host. `changed` is what changed before
    on its first ten hosts, `healthy_hosts` where the same check found no fault."""

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
    """`next_check` is the command to type next."""

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
    """`unchecked` faults of the catalogue have no check yet. `judged` is all that was judged, with -v; else what is
    confirmed or unknown. `inventory` is null for the local host."""

    kind: Literal["gpustack/doctor/v1"] = Field("gpustack/doctor/v1", alias="schema")
    healthy: bool
    taken: Time
    seconds: Seconds
    probes: int
    inventory: TextOrNull
    hosts: list[Host]
    roots: list[Root]
    unexplained: list[Unexplained]
    notes: list[Judged]
    drift: list[Drift]
    judged: list[Judged]
    unchecked: int
