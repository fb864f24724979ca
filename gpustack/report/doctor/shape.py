"""The shape of `gpustack doctor -o json`: the part of the output that scripts may rely on. A field is only ever added
within a version. Ids are those of the catalogue and do not change; `location` is a host or @cluster.
"""

from dataclasses import dataclass

from gpustack.ask.judge import Outcome
from gpustack.doctor.entry import Auto
from gpustack.doctor.finding import Certainty
from gpustack.doctor.peers import Peers
from gpustack.report.schema import EvidenceShape, ExitShape, HostShape

DOCTOR = "gpustack/doctor/v1"


@dataclass(frozen=True)
class JudgedShape:
    """`what` to `found` are null where it is unknown, `expected` also where it was refuted; then `reason` says what is
    missing. Roots have evidence, and with -v all do."""

    id: str
    location: str
    title: str
    outcome: Outcome
    what: str | None
    expected: str | None
    found: str | None
    reason: str | None
    evidence: list[EvidenceShape]


@dataclass(frozen=True)
class FixShape:
    """`auto`: safe, ask or no, and the `reason` of it. `step` of `gpustack install` repairs it, or is null."""

    auto: Auto
    reason: str
    do: str
    commands: list[str]
    step: str | None


@dataclass(frozen=True)
class BranchShape:
    id: str
    title: str
    locations: list[str]
    branches: list["BranchShape"]


@dataclass(frozen=True)
class ChangeShape:
    """`seconds_ago`: before the host was asked, by its own clock."""

    location: str
    seconds_ago: int
    what: str


@dataclass(frozen=True)
class RootShape:
    """`correlated` are root causes of the same act, which `correlation` names; `caused` is the part of `impact` that
    are faults of their own, probably its doing. `hidden_checks` checks need its host. `changed` is what changed before
    on its first ten hosts, `healthy_hosts` where the same check found no fault."""

    id: str
    layer: str
    title: str
    cause: str
    certainty: Certainty
    locations: list[str]
    judged: list[JudgedShape]
    correlated: list[JudgedShape]
    correlation: str | None
    changed: list[ChangeShape]
    healthy_hosts: list[Peers]
    ruled_out: list[JudgedShape]
    impact: list[JudgedShape]
    caused: list[JudgedShape]
    uncertain: list[JudgedShape]
    chain: BranchShape | None
    hidden_checks: int
    fix: FixShape
    explain: str


@dataclass(frozen=True)
class UnexplainedShape:
    """`next_check` is the command to type next."""

    id: str
    title: str
    locations: list[str]
    judged: list[JudgedShape]
    suspects: list[JudgedShape]
    ruled_out: list[JudgedShape]
    impact: list[JudgedShape]
    next_check: str


@dataclass(frozen=True)
class DriftShape:
    """A check of a step that differs and confirms no fault."""

    step: str
    check: str
    locations: list[str]
    what: str
    expected: str
    found: str


@dataclass(frozen=True)
class DoctorShape:
    """`unchecked` faults of the catalogue have no check yet. `judged` is all that was judged, with -v; else what is
    confirmed or unknown. `inventory` is null for the local host."""

    schema: str
    exit: ExitShape
    healthy: bool
    taken: str
    seconds: float
    probes: int
    inventory: str | None
    hosts: list[HostShape]
    roots: list[RootShape]
    unexplained: list[UnexplainedShape]
    notes: list[JudgedShape]
    drift: list[DriftShape]
    judged: list[JudgedShape]
    unchecked: int
