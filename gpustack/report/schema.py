"""What the documents of `-o json` are made of, and those of `plan`, `verify` and `install`: the part of the output that
scripts may rely on. A field is only ever added within a version; docs/schemas has them as JSON Schema.

A shape takes what it shows from the attributes of a value: those of the same name, or what `take` names. Docstrings are
the descriptions in the schemas.
"""

from typing import Annotated, Any, Literal

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

from gpustack.ask.judge import Cure
from gpustack.ask.judge import Outcome as Judgement
from gpustack.rollout.gpus import removal
from gpustack.rollout.plan import Played, Standing

ExitCode = Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 70, 130]
TextOrNull = Annotated[str | None, BeforeValidator(lambda text: str(text) if text else None)]
Time = Annotated[
    str,
    BeforeValidator(lambda time: time.isoformat(timespec="milliseconds")),
    Field(description="ISO 8601", json_schema_extra={"format": "date-time"}),
]
Seconds = Annotated[float, Field(description="in seconds")]
Location = Annotated[str, Field(description="a host, or @cluster")]
Source = Annotated[TextOrNull, Field(description="path of the inventory; null for the local host")]
Stopped = Annotated[TextOrNull, Field(description="why it ended early, else null")]
Folder = Annotated[TextOrNull, Field(description="directory of the run, with its logs; null when there is none")]
Next = Annotated[TextOrNull, Field(description="the command to type next; null when there is nothing to do")]


def take(*path: str) -> Any:
    """A field that has another name in the value, or is in a value inside."""
    return Field(validation_alias=AliasPath(*path))


def optional(*path: str) -> Any:
    """The same, and null where that is None."""
    return Field(None, validation_alias=AliasPath(*path))


class Shape(BaseModel):
    model_config = ConfigDict(
        from_attributes=True, validate_by_name=True, frozen=True, json_schema_serialization_defaults_required=True
    )


class Evidence(Shape):
    """The answer of a probe that a check has read: exit status, stdout, stderr. `cut`: it is longer than what is shown.
    `lost` is the reason why there is no answer, else empty."""

    location: Location = take("answer", "where")
    probe: str = take("answer", "probe")
    command: str
    rc: int = take("answer", "rc")
    out: str = take("answer", "out")
    err: str = take("answer", "err")
    took: Seconds = take("answer", "took")
    cut: bool = take("answer", "cut")
    lost: str = take("answer", "lost")


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


class Host(Shape):
    """`reference` is the id of the error, `reason` says why the host was not reached, `hint` is a command; all are null
    when it was reached."""

    name: str
    address: str
    reached: bool
    reference: TextOrNull
    reason: str | None
    hint: TextOrNull


class Exit(Shape):
    """The exit status and its meaning, as in docs/exit-codes.md."""

    code: ExitCode
    meaning: str


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


class Document(Shape):
    kind: str = Field(alias="schema")
    exit: Exit


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
