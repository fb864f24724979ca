"""Parts of a diagnosis, as plain values. The report formats them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from gpustack.ask.judge import Judgement, Outcome, Result
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import Evidence
from gpustack.exit_status import ExitStatus, select_status

Certainty = Literal["certain", "likely"]
Place = tuple[str, str]
"""An id and its location (a host or @cluster)."""
Judgements = Mapping[Place, Judgement]


def filter_judgements(judgements: Judgements, *outcomes: Outcome) -> Iterator[Judgement]:
    """Yield the judgements that have one of these outcomes."""
    return (judgement for judgement in judgements.values() if judgement.outcome in outcomes)


@dataclass(frozen=True)
class Branch:
    """Hold a confirmed entry and its confirmed effects, in a tree. Unknown entries in between are left out."""

    id: str
    locations: tuple[str, ...]
    branches: tuple["Branch", ...] = ()


@dataclass(frozen=True)
class Finding:
    """Hold a root cause with all its hosts. `correlated_causes` come from the same act, which `correlation` names.
    `impact` is what is folded below it; of that, `caused_faults` are faults that it probably caused. `ruled_out` are
    other causes that were refuted, `uncertain` possible ones that are unknown. `hidden_checks` is the number of checks
    that need this host."""

    id: str
    judgements: tuple[Judgement, ...]
    certainty: Certainty
    impact: tuple[Judgement, ...] = ()
    caused_faults: tuple[Judgement, ...] = ()
    ruled_out: tuple[Judgement, ...] = ()
    uncertain: tuple[Judgement, ...] = ()
    correlated_causes: tuple[Judgement, ...] = ()
    correlation: str = ""
    chain: Branch | None = None
    hidden_checks: int = 0

    @property
    def locations(self) -> tuple[str, ...]:
        return tuple(judgement.location for judgement in self.judgements)


@dataclass(frozen=True)
class UnexplainedSymptom:
    """Hold a confirmed entry that no confirmed fault explains. `suspects` are unknown causes, `next_check` is the
    command to type next."""

    id: str
    judgements: tuple[Judgement, ...]
    suspects: tuple[Judgement, ...]
    ruled_out: tuple[Judgement, ...]
    impact: tuple[Judgement, ...]
    next_check: str

    @property
    def locations(self) -> tuple[str, ...]:
        return tuple(judgement.location for judgement in self.judgements)


@dataclass(frozen=True)
class Drift:
    """Hold a check of a step that differs and confirms no fault."""

    step: str
    check: str
    locations: tuple[str, ...]
    result: Result
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """Hold the result of the rule. `notes` are true and harmless."""

    roots: tuple[Finding, ...]
    unexplained_symptoms: tuple[UnexplainedSymptom, ...]
    notes: tuple[Judgement, ...]


@dataclass(frozen=True)
class Diagnosis:
    """Hold a verdict with what it rests on. `judgements` has every judgement at every place. `unchecked_faults` counts
    the faults that have no check yet."""

    snapshot: Snapshot
    verdict: Verdict
    drift: tuple[Drift, ...]
    judgements: Judgements
    unchecked_faults: int

    @property
    def roots(self) -> tuple[Finding, ...]:
        return self.verdict.roots

    @property
    def unexplained_symptoms(self) -> tuple[UnexplainedSymptom, ...]:
        return self.verdict.unexplained_symptoms

    @property
    def unknown(self) -> tuple[Judgement, ...]:
        return tuple(filter_judgements(self.judgements, "unknown"))

    @property
    def healthy(self) -> bool:
        return not (self.roots or self.unexplained_symptoms or self.drift or self.unknown)

    @property
    def exit_status(self) -> ExitStatus:
        """Return the status of the diagnosis. A host that was not reached is a root cause."""
        return select_status(
            {
                ExitStatus.DIFFERS: self.roots or self.drift,
                ExitStatus.UNKNOWN: self.unexplained_symptoms or self.unknown,
            }
        )
