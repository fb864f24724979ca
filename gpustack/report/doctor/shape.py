"""The shape of `gpustack doctor -o json`. Scripts may rely on it: within a version fields are only ever added, and
ids of the catalogue do not change."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gpustack.ask.judge import Outcome
from gpustack.doctor.entry import Remediation
from gpustack.doctor.finding import Certainty
from gpustack.doctor.graph import load_graph
from gpustack.doctor.states.observers import TITLES
from gpustack.doctor.states.state import Severity
from gpustack.report.schema import (
    Document,
    Evidence,
    Host,
    Seconds,
    Shape,
    TextOrNull,
    Time,
    TimeOrNull,
    take,
    take_optional,
)


def find_title(before: dict[str, Any]) -> str:
    """Find the title of the fault, state, edge or observer whose `id` was validated before."""
    return TITLES.get(before["id"]) or load_graph().format_title(before["id"])


Title = Annotated[str, Field(default_factory=find_title)]


class Judgement(Shape):
    """Describe a fault or symptom that was judged at one location: `failed` is confirmed, `ok` is refuted. Guards and
    conditions of edges, whose ids are `id guard` and `cause -> effect`, and the observers of abnormal states are
    listed where they are unknown.
    `subject`, `expected` and `actual` are null where it is unknown, and `reason` says why; `expected` is null also
    where it was refuted. Without -v, only judgements of root causes and unexplained symptoms have evidence."""

    id: str
    location: str
    title: Title
    outcome: Outcome
    subject: str | None = take_optional("result", "subject")
    expected: TextOrNull = take_optional("result", "expected")
    actual: str | None = take_optional("result", "actual")
    reason: TextOrNull
    evidence: list[Evidence]


class Fix(Shape):
    """Describe what resolves the fault, in words and as `commands`. `reason` says why `remediation` has its value."""

    remediation: Remediation
    reason: TextOrNull
    description: TextOrNull = take("do")
    commands: list[str]
    repair_step: TextOrNull


class Peers(Shape):
    """Describe hosts on which the same check found no fault, and the value that all of them have."""

    host_names: list[str] = take("hosts")
    actual: TextOrNull


class Branch(Shape):
    """Describe a confirmed fault and its effects."""

    id: str
    title: Title
    locations: list[str]
    branches: list["Branch"]


class Change(Shape):
    """Describe a change on a host."""

    location: str
    seconds_ago: Seconds
    description: TextOrNull


class Root(Shape):
    """Describe a root cause and all `locations` where it is confirmed. `changes` are changes on its first ten hosts
    within a day. Of a `risk` nothing suffers yet."""

    id: str
    layer: str
    severity: Severity
    title: Title
    cause: str
    certainty: Certainty
    locations: list[str]
    judgements: list[Judgement]
    correlated_causes: list[Judgement]
    correlation: TextOrNull
    changes: list[Change]
    healthy_hosts: list[Peers]
    ruled_out: list[Judgement]
    impact: list[Judgement]
    caused_faults: list[Judgement]
    uncertain_causes: list[Judgement] = take("uncertain")
    chain: Branch | None
    hidden_check_count: int = take("hidden_checks")
    fix: Fix
    explain: str


class UnexplainedSymptom(Shape):
    """Describe a confirmed symptom without a confirmed cause."""

    id: str
    title: Title
    locations: list[str]
    judgements: list[Judgement]
    uncertain_causes: list[Judgement] = take("suspects")
    ruled_out: list[Judgement]
    impact: list[Judgement]
    next: TextOrNull = take("next_command")


class AbnormalState(Shape):
    """Describe objects that are not as they should be, whatever the cause. `id` is the kind of the state, and
    `description` what the program that reports it says. Without -v there is no evidence."""

    id: str = take("kind")
    severity: Severity
    locations: list[str]
    subjects: list[str]
    description: TextOrNull = take("message")
    last_lines: list[str]
    abnormal_since: TimeOrNull = take("onset")
    occurrence_count: int | None = take("times")
    next: TextOrNull = take("next_command")
    explain: str
    changes: list[Change]
    evidence: list[Evidence]


class Drift(Shape):
    """Describe a check of a step that differs and confirms no fault."""

    step: str
    check: str
    locations: list[str]
    subject: str | None = take("result", "subject")
    expected: str | None = take("result", "expected")
    actual: str | None = take("result", "actual")


class DoctorDocument(Document):
    """Describe the result of `gpustack doctor`. `changes` are services that were started a moment ago: nothing on
    their hosts is certain. `next` is the command to type first. `judgements` are the confirmed and unknown ones, with
    -v all."""

    kind: Literal["gpustack/doctor/v1"] = Field("gpustack/doctor/v1", alias="schema")
    healthy: bool
    next: TextOrNull
    started_at: Time
    seconds: Seconds
    probe_count: int
    inventory: TextOrNull
    hosts: list[Host]
    changes: list[Change] = take("starts")
    roots: list[Root]
    unexplained_symptoms: list[UnexplainedSymptom]
    harmless_judgements: list[Judgement]
    abnormal_states: list[AbnormalState]
    drift: list[Drift]
    judgements: list[Judgement]
    unchecked_fault_count: int = take("unchecked_faults")
