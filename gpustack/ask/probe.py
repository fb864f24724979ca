"""Probes: read-only questions, each with an id and a pure parser. The reply to one is an Answer, which is kept raw."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, TypeVar

from gpustack.ask.message import shorten_message
from gpustack.ask.type_check import fits, resolve_return_type

Fact = TypeVar("Fact")
Scope = Literal["host", "cluster"]
CLUSTER = "@cluster"
HEADING = "== "
"""The beginning of a line that opens a section of an answer; the name of the section follows."""

# What a pure function may raise for what it was given. It can only be the answer's doing (or the parser's, which then
# does not know this shape): it costs this one fact and never the whole run. JSON and YAML nested a thousand deep are a
# RecursionError, dates beyond the calendar an ArithmeticError. Lack of memory is this machine's trouble and goes on.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
# No program that is asked prints these: NUL, escapes, what turns the direction of writing, and what str.splitlines()
# takes for the end of a line but POSIX does not. A text that has them is not read as it was meant.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\r(?!\n)")


class FactUnavailable(Exception):
    """Report that a fact is unknown: host not reached, answer late, cut, or of a shape that the parser does not
    know."""


@dataclass(frozen=True)
class Shell:
    """Hold a POSIX script, constant but for the variables that are exported to it (see ask/script.py)."""

    script: str


@dataclass(frozen=True)
class Lines(Shell):
    """Hold a script that prints whole lines or nothing: an answer without the last newline is truncated."""


@dataclass(frozen=True)
class Api:
    r"""Describe a read of the Kubernetes API, done on the acting control plane.

    `fields` names the fields that are kept of each object (dotted, `\.` for a dot within a key, `[]` not needed for
    lists); all others are dropped before anything is recorded. `$NAME` in the path is a variable that is exported to
    the script. With `metadata` only the metadata of objects leaves the API server, so that of a Secret no secret is
    read.
    """

    path: str
    fields: tuple[str, ...] = ()
    metadata: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold the reply to a probe: exit status, output and error output.

    `location` is a host or @cluster. rc 124 is the limit of the probe. `cut` says that more was printed than is kept,
    and `missing_reason` why no answer arrived.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"strict": True, "extra": "forbid", "allow_inf_nan": False}
    """The reader of recordings uses it: a file is trusted as little as a host."""

    probe: str
    location: str
    rc: int
    stdout: str
    stderr: str = ""
    seconds: float = 0.0
    cut: bool = False
    missing_reason: str = ""


@dataclass(frozen=True)
class Evidence:
    """Hold a command and its answer. Where the command is a script, `manual_command` is what a person types to see the
    same."""

    location: str
    command: str
    answer: Answer
    manual_command: str = ""


def collect_answers(evidence: Iterable[Evidence]) -> set[tuple[str, str]]:
    """Return the answers that evidence rests on: ids of probes, and the location where each was read."""
    return {(entry.answer.probe, entry.location) for entry in evidence}


@dataclass(frozen=True)
class Probe(Generic[Fact]):
    """Describe a question and the parser of its answer.

    `limit` is in seconds. `exit_codes` are the exit statuses with which the question was answered; with any other one
    the parser is not called. The parser may raise the exceptions of UNREADABLE and must return the type that it is
    annotated with; otherwise the fact is unavailable. Where the question is a script, `manual_command` is what a person
    types to see the same. `pruner` shortens an output to the parts that the parser reads; the rest is never recorded.
    """

    id: str
    question: Shell | Api
    parse: Callable[[Answer], Fact]
    limit: int = 5
    exit_codes: tuple[int, ...] = (0,)
    manual_command: str = ""
    pruner: Callable[[str], str] | None = None

    @cached_property
    def scope(self) -> Scope:
        return "cluster" if isinstance(self.question, Api) else "host"

    def prune_output(self, text: str) -> str:
        """Shorten an output by the pruner. Return an empty text where the pruner cannot read it, as the parser could
        not either."""
        try:
            return self.pruner(text) if self.pruner else text
        except UNREADABLE:
            return ""

    def extract_fact(self, answer: Answer) -> Fact:
        """Parse an answer. Raise FactUnavailable, with the reason in words, where the fact is unknown."""
        if reason := self.find_defect(answer):
            raise FactUnavailable(reason)
        try:
            fact = self.parse(answer)
            if fits(fact, resolve_return_type(self.parse)):
                return fact
        except UNREADABLE as error:
            raise FactUnavailable(describe_unexpected_answer(answer)) from error
        raise FactUnavailable(describe_unexpected_answer(answer))

    def find_defect(self, answer: Answer) -> str:
        """Find the reason why an answer is not parsed at all; empty where it is parsed."""
        if answer.missing_reason:
            return answer.missing_reason
        if answer.cut:
            return "the answer was longer than what is kept"
        if answer.rc in (124, 137):
            return f"no answer within {max(self.limit, round(answer.seconds))} s"
        if answer.rc not in self.exit_codes:
            return describe_unexpected_answer(answer)
        if control_character := CONTROL.search(answer.stdout):
            return f"the answer is no text: it has the control character U+{ord(control_character[0]):04X}"
        if isinstance(self.question, Lines) and answer.stdout and not answer.stdout.endswith("\n"):
            return "the answer was truncated in the middle of a line"
        return ""


def describe_unexpected_answer(answer: Answer) -> str:
    """Describe an answer by its first line of error output, else of output; headings of sections are left out."""
    lines = [line.strip() for line in (answer.stderr or answer.stdout).splitlines() if not line.startswith(HEADING)]
    excerpt = next((f": {shorten_message(line)}" for line in lines if line), "")
    return f"unexpected answer (rc {answer.rc}){excerpt}"
