"""What a diagnosis is made of. All of it is values; report writes them down."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from gpustack.ask.judge import Judgement, Outcome, Result
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import Evidence

Certainty = Literal["certain", "likely"]
Place = tuple[str, str]
"""(id, host or @cluster)"""


Judgements = Mapping[Place, Judgement]


def with_outcome(judged: Judgements, *outcomes: Outcome) -> Iterator[Judgement]:
    return (one for one in judged.values() if one.outcome in outcomes)


@dataclass(frozen=True)
class Branch:
    """Something confirmed, and its effects. Unknown entries in between are passed over."""

    id: str
    locations: tuple[str, ...]
    branches: tuple["Branch", ...] = ()


@dataclass(frozen=True)
class Finding:
    """A root cause on all its hosts. `correlated` are those of the same act, which `correlation` names. `impact` is
    what is folded below it; of that, `caused` are faults that are probably its doing. `ruled_out` are other causes that
    were refuted, `uncertain` possible ones that are unknown. `hidden_checks`: how many checks need this host."""

    id: str
    judged: tuple[Judgement, ...]
    certainty: Certainty
    impact: tuple[Judgement, ...] = ()
    caused: tuple[Judgement, ...] = ()
    ruled_out: tuple[Judgement, ...] = ()
    uncertain: tuple[Judgement, ...] = ()
    correlated: tuple[Judgement, ...] = ()
    correlation: str = ""
    chain: Branch | None = None
    hidden_checks: int = 0

    @property
    def locations(self) -> tuple[str, ...]:
        return tuple(one.where for one in self.judged)


@dataclass(frozen=True)
class Unexplained:
    """Something confirmed that nothing confirmed explains. `suspects` are unknown, `ask` is the next check."""

    id: str
    judged: tuple[Judgement, ...]
    suspects: tuple[Judgement, ...]
    ruled_out: tuple[Judgement, ...]
    impact: tuple[Judgement, ...]
    ask: str

    @property
    def locations(self) -> tuple[str, ...]:
        return tuple(one.where for one in self.judged)


@dataclass(frozen=True)
class Drift:
    """A check of a step that differs and confirms no fault."""

    step: str
    check: str
    locations: tuple[str, ...]
    result: Result
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """`notes` are true and harmless."""

    roots: tuple[Finding, ...]
    unexplained: tuple[Unexplained, ...]
    notes: tuple[Judgement, ...]


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
    def unknown(self) -> tuple[Judgement, ...]:
        return tuple(with_outcome(self.judged, "unknown"))

    @property
    def healthy(self) -> bool:
        return not (self.roots or self.unexplained or self.drift or self.unknown)
