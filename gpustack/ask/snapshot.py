"""All answers of one moment: immutable, parsed on read. A recording of it is the support bundle."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar

from gpustack.ask.probe import CLUSTER, Answer, FactUnavailable, Probe
from gpustack.command import NO_HINT, Hint
from gpustack.config.inventory import Inventory

Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Reach:
    """Hold whether a host could be asked. `reference` is empty when it was reached, else the id of the error or fault.
    The SSH connection ended at `address`, which is empty for the local host, and where it is not known."""

    host: str
    reference: str = ""
    why: str = ""
    hint: Hint = NO_HINT
    address: str = ""

    @property
    def reached(self) -> bool:
        return not self.reference


@dataclass(frozen=True)
class Snapshot:
    """`taken` is when the asking began. `took` in seconds. Answers by (probe id, host or @cluster). `facts` are those
    parsed so far, by the same keys, and `memo` is what `View.once` has made of them."""

    taken: datetime
    inventory: Inventory
    reach: Mapping[str, Reach]
    answers: Mapping[tuple[str, str], Answer]
    took: float = 0.0
    facts: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    memo: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def answer(self, probe: Probe[Any], host: str) -> Answer:
        where = CLUSTER if probe.location == "cluster" else host
        if found := self.answers.get((probe.id, where)):
            return found
        return Answer(probe.id, where, -1, "", lost=self.missing(where))

    def missing(self, where: str) -> str:
        if where == CLUSTER:
            asked = any(at == CLUSTER for _, at in self.answers)
            return "not asked of the cluster" if asked else "no control plane could be asked"
        reach = self.reach.get(where)
        return f"{where} was not reached: {reach.why}" if reach and not reach.reached else f"not asked of {where}"

    def fact(self, probe: Probe[Fact], host: str) -> Fact:
        """Raises FactUnavailable."""
        where = CLUSTER if probe.location == "cluster" else host
        if (probe.id, where) not in self.facts:
            self.facts[probe.id, where] = parse(probe, self.answer(probe, host))
        found: Fact | FactUnavailable = self.facts[probe.id, where]
        if isinstance(found, FactUnavailable):
            # It is raised again and again, and would grow by where from each time.
            raise found.with_traceback(None)
        return found

    def renewed(self, other: "Snapshot") -> "Snapshot":
        """This snapshot with the other's answers in place of its own where both have one."""
        return Snapshot(
            other.taken,
            self.inventory,
            MappingProxyType({**self.reach, **other.reach}),
            MappingProxyType({**self.answers, **other.answers}),
            self.took + other.took,
        )


def parse(probe: Probe[Fact], answer: Answer) -> Fact | FactUnavailable:
    try:
        return probe.fact(answer)
    except FactUnavailable as error:
        return error


def keyed(answers: Iterable[Answer]) -> Mapping[tuple[str, str], Answer]:
    return MappingProxyType({(answer.probe, answer.where): answer for answer in answers})
