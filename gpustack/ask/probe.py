"""A probe: a read-only question with an id and a pure parser. What came back is an Answer, kept raw."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Fact = TypeVar("Fact")
Where = Literal["host", "cluster"]
CLUSTER = "@cluster"


class FactUnavailable(Exception):
    """The fact cannot be told: host not reached, answer late, cut, or of a shape that the parser does not know."""


@dataclass(frozen=True)
class Shell:
    """A POSIX script, constant but for the variables that the asking exports (see ask/script.py)."""

    text: str


@dataclass(frozen=True)
class Api:
    """A read of the Kubernetes API, done on the acting control plane. `keep` names the fields kept of each object
    (dotted, `[]` not needed for lists); all else is dropped before anything is recorded."""

    path: str
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What came back: exit status, output, error output; `where` a host or @cluster; `took` in seconds.

    rc 124 is the limit of the probe. `cut` says that more was printed than is kept, `lost` that no answer arrived.
    """

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
    """`limit` in seconds. The parser may raise ValueError, KeyError, TypeError or IndexError: the fact is unavailable
    then."""

    id: str
    ask: Shell | Api
    parse: Callable[[Answer], Fact]
    limit: int = 5

    @property
    def where(self) -> Where:
        return "cluster" if isinstance(self.ask, Api) else "host"

    def fact(self, answer: Answer) -> Fact:
        """Raises FactUnavailable, with the reason in words."""
        if answer.lost:
            raise FactUnavailable(answer.lost)
        if answer.cut:
            raise FactUnavailable("the answer was longer than what is kept")
        if answer.rc in (124, 137):
            raise FactUnavailable(f"no answer within {self.limit} s")
        try:
            return self.parse(answer)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            said = (answer.err or answer.out).strip().splitlines()
            shown = f": {said[0][:120]}" if said else ""
            raise FactUnavailable(f"unexpected answer (rc {answer.rc}){shown}") from error
