"""The type of the declarations in gpustack/report/renderings.py."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any

from gpustack.exit_status import ExitStatus

FORMATS = ("human", "json", "junit", "csv", "html")


@cache
def build_choice(formats: tuple[str, ...]) -> Any:
    """Build the type of `-o`, whose values are the formats. Each takes 0.2 ms of every command, so equal ones are
    built once."""
    return StrEnum("Output", {output.upper(): output for output in formats})


@dataclass(frozen=True)
class Rendering:
    """Declare how a result is shown. `type` is the class of the result, as `room.module:name`, and each format has the
    name of its function in gpustack/report: modules are imported only when they are needed, since rich, Jinja and the
    rooms of other commands load slowly.

    `commands` print the JSON document `schema`. `meanings` are those of exit statuses in the words of these commands,
    and `page` says what `html` is."""

    type: str
    human: str
    json: str = ""
    junit: str = ""
    csv: str = ""
    html: str = ""
    page: str = "one file with plots"
    schema: str = ""
    commands: str = ""
    meanings: Mapping[ExitStatus, str] = field(default_factory=dict)

    @property
    def formats(self) -> tuple[str, ...]:
        return tuple(output for output in FORMATS if getattr(self, output))

    @property
    def format_help(self) -> str:
        return f"Format of the result on stdout{f'; `html` is {self.page}' if self.html else ''}."

    def build_exit(self, status: ExitStatus) -> dict[str, Any]:
        """Build the field `exit` of documents."""
        return {"code": int(status), "meaning": self.meanings.get(status, status.meaning)}
