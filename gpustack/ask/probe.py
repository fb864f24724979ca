"""A probe: a read-only question with an id and a pure parser. What came back is an Answer, kept raw."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, TypeVar

from gpustack.ask.typed import fits, return_type

Fact = TypeVar("Fact")
Location = Literal["host", "cluster"]
CLUSTER = "@cluster"
HEADING = "== "
"""What a part of an answer begins with that has several; its name follows."""

# What a pure function may raise for what it was given. It can only be the answer's doing (or the parser's, which then
# does not know this shape): it costs this one fact and never the whole run. JSON and YAML nested a thousand deep are a
# RecursionError, dates beyond the calendar an ArithmeticError. Lack of memory is this machine's trouble and goes on.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
# No program that is asked prints these: NUL, escapes, what turns the direction of writing, and what str.splitlines()
# takes for the end of a line but POSIX does not. A text that has them is not read as it was meant.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\r(?!\n)")


class FactUnavailable(Exception):
    """The fact is unknown: host not reached, answer late, cut, or of a shape that the parser does not know."""


@dataclass(frozen=True)
class Shell:
    """A POSIX script, constant but for the variables that the asking exports (see ask/script.py)."""

    text: str


@dataclass(frozen=True)
class Lines(Shell):
    """A script that prints whole lines or nothing: without the last newline, something was broken off."""


@dataclass(frozen=True)
class Api:
    r"""A read of the Kubernetes API, done on the acting control plane. `keep` names the fields kept of each object
    (dotted, `\.` for a dot within a key, `[]` not needed for lists); all else is dropped before anything is recorded.
    `$NAME` in the path is a variable that the asking exports. `metadata`: only the objects' metadata leaves the API
    server, so that of a Secret no secret is read."""

    path: str
    keep: tuple[str, ...] = ()
    metadata: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: exit status, output, error output; `where` a host or @cluster; `took` in seconds.

    rc 124 is the limit of the probe. `cut` says that more was printed than is kept, `lost` that no answer arrived.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"strict": True, "extra": "forbid", "allow_inf_nan": False}
    """For the reader of recordings: a file is as little to be trusted as a host."""

    probe: str
    where: str
    rc: int
    out: str
    err: str = ""
    took: float = 0.0
    cut: bool = False
    lost: str = ""


@dataclass(frozen=True)
class Probe(Generic[Fact]):
    """`limit` in seconds. `ends` are the exit statuses with which the question was answered; with any other one the
    parser is not called. It may raise what UNREADABLE names, and must return what it is annotated with: else the fact
    is unavailable. Where the question is a script, `like` is what a person would type to see the same.
    `shorten` makes of a text that holds more than is asked for one that the parser reads to the same end; what it
    leaves out is never recorded."""

    id: str
    ask: Shell | Api
    parse: Callable[[Answer], Fact]
    limit: int = 5
    ends: tuple[int, ...] = (0,)
    like: str = ""
    shorten: Callable[[str], str] | None = None

    @cached_property
    def location(self) -> Location:
        return "cluster" if isinstance(self.ask, Api) else "host"

    def kept(self, text: str) -> str:
        """Of the output. Of one that cannot be shortened nothing is kept: then the parser knows its shape as little."""
        try:
            return self.shorten(text) if self.shorten else text
        except UNREADABLE:
            return ""

    def fact(self, answer: Answer) -> Fact:
        """Raises FactUnavailable, with the reason in words."""
        if reason := self.unfit(answer):
            raise FactUnavailable(reason)
        try:
            found = self.parse(answer)
            if fits(found, return_type(self.parse)):
                return found
        except UNREADABLE as error:
            raise FactUnavailable(unexpected(answer)) from error
        raise FactUnavailable(unexpected(answer))

    def unfit(self, answer: Answer) -> str:
        """Why an answer is not even read; empty when it is."""
        if answer.lost:
            return answer.lost
        if answer.cut:
            return "the answer was longer than what is kept"
        if answer.rc in (124, 137):
            return f"no answer within {max(self.limit, round(answer.took))} s"
        if answer.rc not in self.ends:
            return unexpected(answer)
        if odd := CONTROL.search(answer.out):
            return f"the answer is no text: it has the control character U+{ord(odd[0]):04X}"
        if isinstance(self.ask, Lines) and answer.out and not answer.out.endswith("\n"):
            return "the answer was truncated in the middle of a line"
        return ""


def unexpected(answer: Answer) -> str:
    """With the first line of the error output, else of the output; names of sections say nothing."""
    lines = [line.strip() for line in (answer.err or answer.out).splitlines() if not line.startswith(HEADING)]
    shown = next((f": {line[:120]}" for line in lines if line), "")
    return f"unexpected answer (rc {answer.rc}){shown}"
