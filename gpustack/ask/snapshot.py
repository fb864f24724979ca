"""All answers of one moment: immutable, parsed on read. A recording of it is the support bundle."""

from collections.abc import Iterable, Mapping
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
    """`taken` is when the asking began. `took` in seconds. Answers by (probe id, host or @cluster)."""

    taken: datetime
    inventory: Inventory
    reach: Mapping[str, Reach]
    answers: Mapping[tuple[str, str], Answer]
    took: float = 0.0
    parsed: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False, compare=False)

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
        """Parsed once and remembered. Raises FactUnavailable."""
        answer = self.answer(probe, host)
        key = (probe.id, answer.where)
        if key not in self.parsed:
            try:
                self.parsed[key] = probe.fact(answer)
            except FactUnavailable as error:
                self.parsed[key] = error
        found: Fact = self.parsed[key]
        if isinstance(found, FactUnavailable):
            raise found
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


def keyed(answers: Iterable[Answer]) -> Mapping[tuple[str, str], Answer]:
    return MappingProxyType({(answer.probe, answer.where): answer for answer in answers})
