"""Parts of the documents of `-o json`, on which scripts may rely. Within a version fields are only ever added;
docs/schemas has them as JSON Schema.

A shape takes its values from the attributes of an object: those of the same name, or what `take` names. The docstrings
of shapes are the descriptions in the schemas.
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from gpustack.vocabulary.basis import Basis

ExitCode = Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 70, 130]


def format_rfc3339(time: datetime | float) -> str:
    """Format an aware time, or seconds since 1970, by RFC 3339 in UTC, to the millisecond. Raise ValueError for a time
    without a time zone."""
    moment = time if isinstance(time, datetime) else datetime.fromtimestamp(time, UTC)
    if moment.tzinfo is None:
        raise ValueError(f"a time without a time zone: {moment}")
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


TextOrNull = Annotated[str | None, BeforeValidator(lambda text: str(text) if text else None)]
Reasons = Annotated[list[str], BeforeValidator(lambda text: [text] if text else [])]
DATE_TIME = Field(json_schema_extra={"format": "date-time"})
Time = Annotated[str, BeforeValidator(format_rfc3339), DATE_TIME]
TimeOrNull = Annotated[
    Annotated[str, DATE_TIME] | None, BeforeValidator(lambda time: None if time is None else format_rfc3339(time))
]
Seconds = Annotated[float, AfterValidator(lambda seconds: round(seconds, 3))]
Hours = Annotated[float, AfterValidator(lambda hours: round(hours, 3))]
"""Durations are rounded to thousandths. No other number of a document is."""


def take(*path: str) -> Any:
    """Declare a field that has another name in the object, or is in an object inside it."""
    return Field(validation_alias=AliasPath(*path))


def take_optional(*path: str) -> Any:
    """Declare such a field, which is null where an object on the path is None."""
    return Field(None, validation_alias=AliasPath(*path))


class Shape(BaseModel):
    model_config = ConfigDict(
        from_attributes=True, validate_by_name=True, frozen=True, json_schema_serialization_defaults_required=True
    )


class NumbersShape(BaseModel):
    """Give the numbers of a shape their basis. A shape declares `basis` behind all other fields."""

    @field_validator("basis", check_fields=False)
    @classmethod
    def name_basis(cls, words: dict[str, Basis], info: ValidationInfo) -> dict[str, Basis]:
        """Name the numbers by the fields that take them, and leave those out that have no value."""
        sources = {
            field.validation_alias.path[0] if isinstance(field.validation_alias, AliasPath) else name: name
            for name, field in cls.model_fields.items()
        }
        names = {sources[source]: word for source, word in words.items() if source in sources}
        return {name: word for name, word in names.items() if info.data[name] is not None}


class Evidence(Shape):
    """Describe the answer of a probe that a check has read."""

    location: str = take("answer", "location")
    probe: str = take("answer", "probe")
    command: str
    rc: int = take("answer", "rc")
    stdout: str = take("answer", "stdout")
    stderr: str = take("answer", "stderr")
    seconds: Seconds = take("answer", "seconds")
    truncated: bool = take("answer", "cut")
    reason: TextOrNull = take("answer", "missing_reason")


class Host(Shape):
    """Describe whether a host was reached. `unreachable` is null where the host was not contacted."""

    name: str
    address: str
    unreachable: bool | None
    reference: TextOrNull
    reason: TextOrNull
    hint: TextOrNull


class TaskFailure(Shape):
    """Describe a task of a playbook that failed on a host."""

    host: str
    task: str
    path: str
    reason: TextOrNull = take("message")
    unreachable: bool | None


class PlaybookRun(Shape):
    """Describe the run of a playbook."""

    step: str
    host_names: list[str] = take("hosts")
    changed_hosts: list[str]
    failed_hosts: list[str]
    failures: list[TaskFailure]
    seconds: Seconds
    command: str
    changed_task_count: int = take("tasks_changed")


class Exit(Shape):
    """Describe the exit status and its meaning, as in docs/exit-codes.md."""

    code: ExitCode
    meaning: str


class Document(Shape):
    kind: str = Field(alias="schema")
    exit: Exit
