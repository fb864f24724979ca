"""The shape of `gpustack doctor -o json`: the part of the output that scripts may rely on. A field is only ever added
within a version. Ids are those of the catalogue and do not change; `where` is a host or @cluster.
"""

from dataclasses import dataclass

from gpustack.ask.judge import Outcome
from gpustack.doctor.entry import Auto
from gpustack.doctor.finding import Certainty
from gpustack.report.schema import EvidenceShape, ExitShape, HostShape

DOCTOR = "gpustack/doctor/v1"


@dataclass(frozen=True)
class JudgedShape:
    """`what` to `found` are null where it is unknown, `expected` also where it was refuted; then `why` says what is
    missing. Roots have evidence, and with -v all do."""

    id: str
    where: str
    title: str
    outcome: Outcome
    what: str | None
    expected: str | None
    found: str | None
    why: str | None
    evidence: list[EvidenceShape]


@dataclass(frozen=True)
class FixShape:
    """`auto`: safe, ask or no, and `why`. `step` is the step of `gpustack install` that mends it, or null."""

    auto: Auto
    why: str
    do: str
    commands: list[str]
    step: str | None


@dataclass(frozen=True)
class BranchShape:
    id: str
    title: str
    wheres: list[str]
    branches: list["BranchShape"]


@dataclass(frozen=True)
class ChangeShape:
    """`seconds_ago`: before the host was asked, by its own clock."""

    where: str
    seconds_ago: int
    what: str


@dataclass(frozen=True)
class PeersShape:
    """Hosts where the same check found `found`, and all is well with that."""

    hosts: list[str]
    found: str


@dataclass(frozen=True)
class RootShape:
    """`together` are roots of the same act, in words `common`; `caused` is the part of `breaks` that are faults of
    their own, probably its doing. `hides` checks need its host. `changed` is what became different lately on its
    first ten hosts, `peers` are hosts that are well."""

    id: str
    layer: str
    title: str
    cause: str
    certainty: Certainty
    wheres: list[str]
    judged: list[JudgedShape]
    together: list[JudgedShape]
    common: str | None
    changed: list[ChangeShape]
    peers: list[PeersShape]
    not_these: list[JudgedShape]
    breaks: list[JudgedShape]
    caused: list[JudgedShape]
    doubts: list[JudgedShape]
    chain: BranchShape | None
    hides: int
    fix: FixShape
    explain: str


@dataclass(frozen=True)
class UnexplainedShape:
    """`ask` is the command to type next."""

    id: str
    title: str
    wheres: list[str]
    judged: list[JudgedShape]
    suspects: list[JudgedShape]
    not_these: list[JudgedShape]
    breaks: list[JudgedShape]
    ask: str


@dataclass(frozen=True)
class DriftShape:
    """A check of a step that differs and confirms no fault."""

    step: str
    check: str
    wheres: list[str]
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
    questions: int
    inventory: str | None
    hosts: list[HostShape]
    roots: list[RootShape]
    unexplained: list[UnexplainedShape]
    notes: list[JudgedShape]
    drift: list[DriftShape]
    judged: list[JudgedShape]
    unchecked: int
