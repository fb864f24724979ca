"""Parts of a diagnosis, as plain values. The report formats them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from gpustack.ask.judge import Judgement, Outcome, Result
from gpustack.ask.probe import Evidence
from gpustack.ask.snapshot import Snapshot
from gpustack.command import NO_HINT, Hint
from gpustack.doctor.graph import load_graph
from gpustack.doctor.recent_change import RecentChange
from gpustack.doctor.starting import Start
from gpustack.doctor.states.state import AbnormalState, Severity, select_states
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
class Peers:
    """Hold hosts without the fault, in the order of the inventory, and the value that all of them have."""

    hosts: tuple[str, ...]
    actual: str


@dataclass(frozen=True)
class Commands:
    """Hold what to type for a root cause. `repairs` are the commands of the catalogue, `fix` is empty where there is no
    automatic fix. `manual` says why the fix or a step does not repair this case, and what to do instead. `caution` says
    why an automatic fix needs a confirmation here."""

    repairs: tuple[Hint, ...] = ()
    fix: Hint = NO_HINT
    manual: tuple[str, ...] = ()
    caution: str = ""

    @property
    def hints(self) -> tuple[Hint, ...]:
        return (*self.repairs, *filter(None, [self.fix]))


@dataclass(frozen=True)
class Finding:
    """Hold a root cause with all its hosts. `correlated_causes` come from the same act, which `correlation` names.
    `impact` is what is folded below it; of that, `caused_faults` are faults that it probably caused. `ruled_out` are
    other causes that were refuted, `uncertain` possible ones that are unknown. `hidden_checks` is the number of checks
    that need this host. `changes` are the recent ones on its hosts, and `healthy_hosts` are without the fault.
    `starts` are units of its hosts that were started a moment ago, so that it may pass. `severity` is `broken` where it
    or something that it explains does not work. `commands` are added by gpustack/remedy/commands.py."""

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
    changes: tuple[RecentChange, ...] = ()
    healthy_hosts: tuple[Peers, ...] = ()
    starts: tuple[Start, ...] = ()
    severity: Severity = "broken"
    commands: Commands = Commands()

    @property
    def locations(self) -> tuple[str, ...]:
        return tuple(judgement.location for judgement in self.judgements)

    @property
    def has_remedy(self) -> bool:
        """Tell whether the remedy of the catalogue may help: not where a check says what a person has to do in its
        place, because the evidence fits other causes as well."""
        results = [judgement.result for judgement in self.judgements if judgement.result]
        return all(result.certain or not result.person for result in results)


@dataclass(frozen=True)
class UnexplainedSymptom:
    """Hold a confirmed entry that no confirmed fault explains. `suspects` are unknown causes, `next_check` is the
    line of the catalogue to type next, and `next_command` the same with the names of its host, added by
    gpustack/remedy/commands.py. `starts` are units of its hosts that were started a moment ago."""

    id: str
    judgements: tuple[Judgement, ...]
    suspects: tuple[Judgement, ...]
    ruled_out: tuple[Judgement, ...]
    impact: tuple[Judgement, ...]
    next_check: str
    starts: tuple[Start, ...] = ()
    next_command: Hint = NO_HINT

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
class Selection:
    """Hold the hosts and the names of faults and states to which a diagnosis is limited; all where there is none."""

    hosts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.hosts or self.names)

    def __str__(self) -> str:
        """Return the words of the options: `limited to gpu1, gpu2`, `only gpu-fell-off-bus`."""
        parts = (("limited to", self.hosts), ("only", self.names))
        return ", ".join(f"{word} {', '.join(values)}" for word, values in parts if values)


@dataclass(frozen=True)
class Diagnosis:
    """Hold a verdict with what it rests on. `judgements` has every judgement at every place. `unchecked_faults` counts
    the faults that have no check yet. `starts` are units that were started a moment ago. `abnormal_states` are found
    without the catalogue, the broken ones first, and `unknown_observations` are the observers that could not look.
    `strict`: risks and notes count for the exit status, too. `selection` is what gpustack/doctor/selection.py left."""

    snapshot: Snapshot
    verdict: Verdict
    drift: tuple[Drift, ...]
    judgements: Judgements
    unchecked_faults: int
    starts: tuple[Start, ...] = ()
    abnormal_states: tuple[AbnormalState, ...] = ()
    unknown_observations: tuple[Judgement, ...] = ()
    strict: bool = False
    selection: Selection = Selection()

    @property
    def roots(self) -> tuple[Finding, ...]:
        return self.verdict.roots

    def select_roots(self, *severities: Severity) -> tuple[Finding, ...]:
        """Select the root causes of these severities."""
        return tuple(root for root in self.roots if root.severity in severities)

    @property
    def unexplained_symptoms(self) -> tuple[UnexplainedSymptom, ...]:
        return self.verdict.unexplained_symptoms

    @property
    def unknown(self) -> tuple[Judgement, ...]:
        return (*filter_judgements(self.judgements, "unknown"), *self.unknown_observations)

    @property
    def broken_states(self) -> tuple[AbnormalState, ...]:
        return tuple(select_states(self.abnormal_states, "broken"))

    @property
    def reported_judgements(self) -> tuple[Judgement, ...]:
        """Return the judgements of documents: those of faults and states, and everything that is unknown. A guard or
        the condition of an edge also holds on a healthy cluster, so that it says nothing alone unless it is unknown."""
        graph = load_graph()
        judgements = (
            judgement
            for judgement in self.judgements.values()
            if judgement.id in graph or judgement.outcome == "unknown"
        )
        return (*judgements, *self.unknown_observations)

    @property
    def is_broken(self) -> bool:
        """Tell whether something does not work now. A symptom on a host that is starting may pass."""
        lasting_symptoms = [symptom for symptom in self.unexplained_symptoms if not symptom.starts]
        return bool(self.select_roots("broken") or lasting_symptoms or self.broken_states)

    @property
    def has_warnings(self) -> bool:
        """Tell whether there is a risk or a note."""
        states = [state for state in self.abnormal_states if state.severity != "broken"]
        return bool(self.select_roots("risk", "note") or self.verdict.notes or states)

    @property
    def healthy(self) -> bool:
        return not (self.is_broken or self.unexplained_symptoms or self.drift or self.unknown)

    @property
    def exit_status(self) -> ExitStatus:
        """Return the status of the diagnosis. A host that was not reached is a root cause, and drift may be the only
        sign of a fault that the catalogue lacks."""
        return select_status(
            differs=self.is_broken or self.drift or (self.strict and self.has_warnings),
            unknown=self.unexplained_symptoms or self.unknown,
        )
