"""The documents of `plan`, `verify` and `install`."""

from typing import Literal

from pydantic import Field

from gpustack.ask.judge import Cure
from gpustack.ask.judge import Outcome as Judgement
from gpustack.report.schema import (
    Document,
    Evidence,
    Host,
    PlaybookRun,
    Seconds,
    Shape,
    TextOrNull,
    Time,
    take,
    take_optional,
)
from gpustack.rollout.plan import Standing


class Check(Shape):
    """Describe a check of a step. `subject`, `expected`, `actual`, `cure`, `fault` and `hint` are null unless the
    check failed, `reason` is null unless it is unknown. Without -v, a check that is ok has no evidence."""

    check: str = take("id")
    outcome: Judgement
    subject: str | None = take_optional("result", "subject")
    expected: str | None = take_optional("result", "expected")
    actual: str | None = take_optional("result", "actual")
    cure: Cure | None = take_optional("result", "cure")
    fault: TextOrNull = take_optional("result", "fault")
    hint: TextOrNull = take_optional("result", "hint")
    reason: TextOrNull
    evidence: list[Evidence]


class State(Shape):
    """Describe a step at one location."""

    step: str
    location: str
    outcome: Standing
    waits_for: TextOrNull = take("after")
    checks: list[Check] = take("judgements")


class Gpus(Shape):
    """Count the GPUs for Kubernetes, and list what is not counted."""

    expected_gpu_count: int = take("expected")
    host_count: int = take("hosts")
    allocatable_gpu_count: int | None = take("allocatable")
    stranded_pod_commands: list[str] = take("removal_commands")
    excluded_devices: list[str]
    series_count: int = take("series")


class StateDocument(Document):
    converged: bool
    started_at: Time
    seconds: Seconds
    probe_count: int
    inventory: TextOrNull
    hosts: list[Host]
    gpu_summary: Gpus | None
    warnings: list[str]
    states: list[State]
    next: TextOrNull


class PlanDocument(StateDocument):
    """Describe the result of `gpustack plan`: the state of each step at each location. A warning is no difference: it
    says what may be lost or ended later, and by what, or who may connect through a firewall."""

    kind: Literal["gpustack/plan/v1"] = Field("gpustack/plan/v1", alias="schema")


class VerificationDocument(StateDocument):
    """Describe the result of `gpustack verify`: the state of each step at each location."""

    kind: Literal["gpustack/verification/v1"] = Field("gpustack/verification/v1", alias="schema")


class StoppedHost(Shape):
    """Describe a host that left the rollout early, and the step it left at (`reach` when it was never reached)."""

    host: str
    step: str


class OutcomeDocument(Document):
    """Describe the result of `gpustack install`: the runs of its playbooks, and the verification after them."""

    kind: Literal["gpustack/outcome/v1"] = Field("gpustack/outcome/v1", alias="schema")
    converged: bool
    seconds: Seconds
    playbook_runs: list[PlaybookRun]
    stopped_hosts: list[StoppedHost]
    stop_reason: TextOrNull
    evidence_directory: TextOrNull
    verification: VerificationDocument
    next: TextOrNull
