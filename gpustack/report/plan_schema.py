"""The documents of `plan`, `verify` and `install`."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gpustack.ask.judge import Cure
from gpustack.ask.judge import Outcome as Judgement
from gpustack.report.schema import (
    Document,
    Evidence,
    Folder,
    Host,
    Location,
    Next,
    Seconds,
    Shape,
    Source,
    Stopped,
    TextOrNull,
    Time,
    optional,
    take,
)
from gpustack.rollout.gpus import removal
from gpustack.rollout.plan import Played, Standing


class Check(Shape):
    """`what` to `hint` are null unless the check failed: `cure` is who corrects it, `fault` an id of the catalogue.
    `reason` is null unless it is unknown. Without -v, a check that is ok has no evidence."""

    check: str = take("id")
    outcome: Judgement
    what: str | None = optional("result", "what")
    expected: str | None = optional("result", "expected")
    found: str | None = optional("result", "found")
    cure: Cure | None = optional("result", "cure")
    fault: TextOrNull = optional("result", "fault")
    hint: TextOrNull = optional("result", "hint")
    reason: TextOrNull = take("why")
    evidence: list[Evidence]


class State(Shape):
    """A step at one location. `after` is the drifted step that it waits for, else null."""

    step: str
    location: Location = take("where")
    outcome: Standing
    after: TextOrNull
    checks: list[Check] = take("judgements")


class Gpus(Shape):
    """The number of GPUs for Kubernetes and of hosts that have them; `allocatable` GPUs are offered to pods, null when
    unknown. `stranded` are commands that delete pods which the kubelet refused for lack of a healthy GPU and which stay
    Failed; `aside` are PCI functions that are not counted, and why; `series` are what an exporter sends of a GPU."""

    expected: int
    hosts: int
    allocatable: int | None
    stranded: Annotated[list[str], BeforeValidator(removal)]
    aside: list[str]
    series: int


class Look(Document):
    converged: bool
    taken: Time
    seconds: Seconds
    probes: int
    inventory: Source
    hosts: list[Host]
    gpus: Gpus | None = Field(description="null when no host has a GPU")
    states: list[State]
    next: Next


class PlanDocument(Look):
    """Result of `gpustack plan`: the state of each step at each location, asked with so many `probes`. `history` says
    what is lost of Prometheus' data when its pod restarts; null where it is on a volume."""

    kind: Literal["gpustack/plan/v1"] = Field("gpustack/plan/v1", alias="schema")
    history: TextOrNull


class VerificationDocument(Look):
    """Result of `gpustack verify`: the state of each step at each location, asked with so many `probes`."""

    kind: Literal["gpustack/verification/v1"] = Field("gpustack/verification/v1", alias="schema")


class Left(Shape):
    """A host that left the rollout early, and the step it left at (`reach` when it was never reached)."""

    host: str
    step: str


class OutcomeDocument(Document):
    """Result of `gpustack install`: the playbooks that were played, and the verification after them."""

    kind: Literal["gpustack/outcome/v1"] = Field("gpustack/outcome/v1", alias="schema")
    converged: bool
    seconds: Seconds
    played: list[Played]
    left: list[Left]
    stopped: Stopped
    evidence: Folder
    verification: VerificationDocument
    next: Next
