"""Snapshots: all answers of one moment, immutable, and parsed when they are read. A recording of one is the support
bundle."""

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
    """Hold whether a host could be asked.

    `reference` is empty when it was reached, else the id of the error or fault. `address` is the other end of the SSH
    connection; it is empty for the local host, and where it is not known. `silent` tells that nothing at all answered,
    which a recording does not keep.
    """

    host: str
    reference: str = ""
    reason: str = ""
    hint: Hint = NO_HINT
    address: str = ""
    silent: bool = field(default=False, compare=False)

    @property
    def reached(self) -> bool:
        return not self.reference


@dataclass(frozen=True)
class Snapshot:
    """Hold all answers by (probe id, host or @cluster).

    `started_at` is when the first host was asked, and `seconds` how long all took. `facts` are those parsed so far, by
    the same keys, and `memo` holds the results of `View.compute_once`.
    """

    started_at: datetime
    inventory: Inventory
    reach: Mapping[str, Reach]
    answers: Mapping[tuple[str, str], Answer]
    seconds: float = 0.0
    facts: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    memo: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def find_answer(self, probe: Probe[Any], host: str) -> Answer:
        location = CLUSTER if probe.scope == "cluster" else host
        if answer := self.answers.get((probe.id, location)):
            return answer
        return Answer(probe.id, location, -1, "", missing_reason=self.explain_missing_answer(location))

    def explain_missing_answer(self, location: str) -> str:
        if location == CLUSTER:
            asked_cluster = any(asked_location == CLUSTER for _, asked_location in self.answers)
            return "not asked of the cluster" if asked_cluster else "no control plane could be asked"
        reach = self.reach.get(location)
        if reach and not reach.reached:
            return f"{location} was not reached: {reach.reason}"
        return f"not asked of {location}"

    def find_reached_address(self, host: str) -> str:
        """Find where the SSH connection to a host ended; of a recording without it, the address in the inventory."""
        reach = self.reach.get(host)
        return reach.address if reach and reach.address else self.inventory.by_name[host].address

    def require_fact(self, probe: Probe[Fact], host: str) -> Fact:
        """Return the fact of a probe on a host. Raise FactUnavailable where it is unknown."""
        location = CLUSTER if probe.scope == "cluster" else host
        if (probe.id, location) not in self.facts:
            self.facts[probe.id, location] = parse_fact(probe, self.find_answer(probe, host))
        fact: Fact | FactUnavailable = self.facts[probe.id, location]
        if isinstance(fact, FactUnavailable):
            # It is raised again and again, and would grow by where from each time.
            raise fact.with_traceback(None)
        return fact

    def merge_snapshot(self, newer_snapshot: "Snapshot") -> "Snapshot":
        """Return this snapshot with the answers of a newer one in place of its own where both have one."""
        return Snapshot(
            newer_snapshot.started_at,
            self.inventory,
            MappingProxyType({**self.reach, **newer_snapshot.reach}),
            MappingProxyType({**self.answers, **newer_snapshot.answers}),
            self.seconds + newer_snapshot.seconds,
        )

    def add_answers(self, later_snapshot: "Snapshot") -> "Snapshot":
        """Return this snapshot with the answers of a later round beside its own. Its time and the reach of its hosts
        stay, as ages are counted from the former."""
        answers = MappingProxyType({**later_snapshot.answers, **self.answers})
        return Snapshot(self.started_at, self.inventory, self.reach, answers, self.seconds + later_snapshot.seconds)


def parse_fact(probe: Probe[Fact], answer: Answer) -> Fact | FactUnavailable:
    try:
        return probe.extract_fact(answer)
    except FactUnavailable as error:
        return error


def index_answers(answers: Iterable[Answer]) -> Mapping[tuple[str, str], Answer]:
    return MappingProxyType({(answer.probe, answer.location): answer for answer in answers})
