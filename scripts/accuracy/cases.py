"""What is played: each way of each fault that the lab can make, or random pairs of them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from gpustack.doctor.graph import graph
from gpustack.lab.faults.entries import Injector, find, injectors


@dataclass(frozen=True)
class Case:
    injectors: tuple[Injector, ...]

    @property
    def name(self) -> str:
        return " + ".join(one.name for one in self.injectors)

    @property
    def faults(self) -> tuple[str, ...]:
        return tuple(sorted({one.fault for one in self.injectors}))


def singles() -> list[Case]:
    return [Case((one,)) for one in injectors().values()]


def paired(count: int, seed: int) -> list[Case]:
    """Pairs of different faults, neither of which takes the whole cluster along, nor is the other's cause."""
    able = [one for one in injectors().values() if not one.alone]
    together = [pair for pair in combinations(able, 2) if compatible(*pair)]
    drawn = random.Random(seed).sample(together, min(count, len(together)))  # noqa: S311 - to be drawn again
    return [Case(pair) for pair in drawn]


def compatible(one: Injector, other: Injector) -> bool:
    return other.fault not in {one.fault, *graph().descendants(one.fault), *graph().ancestors(one.fault)}


def all_of(pairs: int, seed: int) -> list[Case]:
    return [*singles(), *(paired(pairs, seed) if pairs else ())]


def chosen(*, only: Sequence[str], pairs: int, seed: int, shard: str) -> list[Case]:
    """Raises LabError for a fault that there is not."""
    if only:
        found = [Case(tuple(find(part.strip()) for part in name.split("+"))) for name in only]
        ways = [Case((one,)) for name in only for one in injectors().values() if one.fault == name]
        found = list({case.name: case for case in [*found, *ways]}.values())
    else:
        found = paired(pairs, seed) if pairs else singles()
    index, _, count = shard.partition("/")
    return found[int(index) - 1 :: int(count)]
