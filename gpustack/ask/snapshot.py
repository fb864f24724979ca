"""All answers of one moment: immutable, parsed on read. A recording of it is the support bundle."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar

from gpustack.ask.probe import CLUSTER, Answer, FactUnavailable, Probe
from gpustack.config.inventory import Inventory

Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Reach:
    """Whether a host could be asked. `reference` is empty when it was reached, else the error's or fault's id."""

    host: str
    reference: str = ""
    why: str = ""
    hint: str = ""

    @property
    def reached(self) -> bool:
        return not self.reference


@dataclass(frozen=True)
class Snapshot:
    """`taken` is when the asking began. `took` in seconds. Answers by (probe id, host or @cluster). `parsed` is what
    was made of them so far, by place, by text and for all hosts at once."""

    taken: datetime
    inventory: Inventory
    reach: Mapping[str, Reach]
    answers: Mapping[tuple[str, str], Answer]
    took: float = 0.0
    parsed: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def answer(self, probe: Probe[Any], host: str) -> Answer:
        where = CLUSTER if probe.where == "cluster" else host
        if found := self.answers.get((probe.id, where)):
            return found
        return Answer(probe.id, where, -1, "", lost=self.missing(where))

    def missing(self, where: str) -> str:
        if where == CLUSTER:
            return "no control plane could be asked"
        reach = self.reach.get(where)
        return f"{where} was not reached: {reach.why}" if reach and not reach.reached else f"not asked of {where}"

    def fact(self, probe: Probe[Fact], host: str) -> Fact:
        """Raises FactUnavailable."""
        found = self.known(probe, host)
        if isinstance(found, FactUnavailable):
            # It is raised again and again, and would grow by where from each time.
            raise found.with_traceback(None)
        return found

    def known(self, probe: Probe[Fact], host: str) -> Fact | FactUnavailable:
        """Parsed once and remembered; the same object for the same text, whoever said it."""
        where = CLUSTER if probe.where == "cluster" else host
        try:
            return self.parsed[probe.id][where]  # type: ignore[no-any-return]
        except KeyError:
            found = self.read(probe, self.answer(probe, host))
            self.parsed.setdefault(probe.id, {})[where] = found
            return found

    def read(self, probe: Probe[Fact], answer: Answer) -> Fact | FactUnavailable:
        alike = (probe.id, answer.rc, answer.out, answer.err, answer.cut, answer.lost)
        if alike not in self.parsed:
            try:
                self.parsed[alike] = probe.fact(answer)
            except FactUnavailable as error:
                self.parsed[alike] = error
        return self.parsed[alike]  # type: ignore[no-any-return]

    def shared(self, name: str, make: Callable[[], Fact], of: object = None) -> Fact:
        """What is made of all hosts' facts, once for all of them. `name` is the caller's alone, and with the object
        `of` says all that the value depends on beside this snapshot."""
        key = (name, id(of))
        if key not in self.parsed:
            # The object is kept too: its identity would be another's after it.
            self.parsed[key] = (of, make())
        return self.parsed[key][1]  # type: ignore[no-any-return]

    def renewed(self, other: "Snapshot") -> "Snapshot":
        """This snapshot with the other's answers in place of its own where both have one."""
        return Snapshot(
            other.taken,
            self.inventory,
            MappingProxyType({**self.reach, **other.reach}),
            MappingProxyType({**self.answers, **other.answers}),
            self.took + other.took,
        )


def keyed(answers: Iterable[Answer]) -> Mapping[tuple[str, str], Answer]:
    return MappingProxyType({(answer.probe, answer.where): answer for answer in answers})
