"""What the documents of `-o json` are made of, the part of the output that scripts may rely on. A field is only ever
added within a version; docs/schemas has them as JSON Schema.

A shape takes what it shows from the attributes of a value: those of the same name, or what `take` names. Docstrings are
the descriptions in the schemas.
"""

from typing import Annotated, Any, Literal

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

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


class Document(Shape):
    kind: str = Field(alias="schema")
    exit: Exit
