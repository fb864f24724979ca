"""What a diagnosis is made of. All of it is values; report writes them down."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from gpustack.ask.alike import Evidence
from gpustack.ask.judge import Mismatch
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.tells import Told

Outcome = Literal["confirmed", "refuted", "unknown"]
Certainty = Literal["certain", "likely"]
Place = tuple[str, str]
"""(id, host or @cluster)"""


@dataclass(frozen=True, slots=True)
class Judged:
    """One id at one place. `told` is None and `why` says what was missing where it is unknown."""

    id: str
    where: str
    outcome: Outcome
    told: Told | None = None
    why: str = ""
    evidence: Sequence[Evidence] = ()

    @property
    def place(self) -> Place:
        return self.id, self.where


Judgements = Mapping[Place, Judged]


@runtime_checkable
class Counted(Protocol):
    """Judgements that know where there is an outcome without making a Judged of each."""

    def spots(self, *outcomes: Outcome, id: str = "") -> Iterator[Place]: ...


def spots(judged: Judgements, *outcomes: Outcome, id: str = "") -> Iterator[Place]:
    """Where one of these came out, of all ids or of one."""
    if isinstance(judged, Counted):
        return judged.spots(*outcomes, id=id)
    return (place for place, one in judged.items() if one.outcome in outcomes and id in ("", one.id))


def having(judged: Judgements, *outcomes: Outcome, id: str = "") -> Iterator[Judged]:
    return (judged[place] for place in spots(judged, *outcomes, id=id))


@dataclass(frozen=True)
class Branch:
    """Something confirmed, and what it led to. What could not be told in between is passed over."""

    id: str
    wheres: tuple[str, ...]
    branches: tuple["Branch", ...] = ()


@dataclass(frozen=True)
class Finding:
    """A root cause on all its hosts. `correlated` are those of the same act, which `correlation` names. `impact` is
    what is folded below it; of that, `caused` are faults that are probably its doing. `ruled_out` are other causes that
    were refuted, `uncertain` possible ones that are unknown. `hidden_checks`: how many checks need this host."""

    id: str
    judged: tuple[Judged, ...]
    certainty: Certainty
    impact: tuple[Judged, ...] = ()
    caused: tuple[Judged, ...] = ()
    ruled_out: tuple[Judged, ...] = ()
    uncertain: tuple[Judged, ...] = ()
    correlated: tuple[Judged, ...] = ()
    correlation: str = ""
    chain: Branch | None = None
    hidden_checks: int = 0

    @property
    def wheres(self) -> tuple[str, ...]:
        return tuple(one.where for one in self.judged)


@dataclass(frozen=True)
class Unexplained:
    """Something confirmed that nothing confirmed explains. `suspects` are unknown, `ask` is the next check."""

    id: str
    judged: tuple[Judged, ...]
    suspects: tuple[Judged, ...]
    ruled_out: tuple[Judged, ...]
    impact: tuple[Judged, ...]
    ask: str

    @property
    def wheres(self) -> tuple[str, ...]:
        return tuple(one.where for one in self.judged)


@dataclass(frozen=True)
class Drift:
    """A check of a step that differs and confirms no fault."""

    step: str
    check: str
    wheres: tuple[str, ...]
    mismatch: Mismatch
    evidence: Sequence[Evidence] = ()


@dataclass(frozen=True)
class Verdict:
    """`notes` are true and harmless."""

    roots: tuple[Finding, ...]
    unexplained: tuple[Unexplained, ...]
    notes: tuple[Judged, ...]


@dataclass(frozen=True)
class Diagnosis:
    """`judged` is all that was judged, at every place. `unchecked` is how many faults have no check yet."""

    snapshot: Snapshot
    verdict: Verdict
    drift: tuple[Drift, ...]
    judged: Judgements
    unchecked: int

    @property
    def roots(self) -> tuple[Finding, ...]:
        return self.verdict.roots

    @property
    def unexplained(self) -> tuple[Unexplained, ...]:
        return self.verdict.unexplained

    @property
    def unknown(self) -> tuple[Judged, ...]:
        return tuple(having(self.judged, "unknown"))

    @property
    def healthy(self) -> bool:
        return not (self.roots or self.unexplained or self.drift or self.unknown)
