"""What is played: each way of each fault that the lab can make, or random pairs of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations

from gpustack.doctor.graph import graph
from gpustack.lab.faults.entries import Injector, find, injectors, variants
from scripts.accuracy.shapes import ONE_HOST, Shape, shapes

HEALTHY = "healthy"
PASSED_BY = {"host-ufw-blocks-pods/deny", "host-cloud-image-reject-rules/image"}
STOPPED = "containerd-not-running"
PAIR = " + "


@dataclass(frozen=True)
class Case:
    """`shape`: in a lab of its own. A variant that is healthy has no faults."""

    injectors: tuple[Injector, ...]
    shape: Shape | None = None

    @property
    def name(self) -> str:
        return PAIR.join(one.name for one in self.injectors) or f"{HEALTHY}/{self.shape.name if self.shape else ''}"

    @property
    def faults(self) -> tuple[str, ...]:
        return tuple(sorted({one.fault for one in self.injectors} - {HEALTHY}))


def single(one: Injector) -> Case:
    return Case((one,), shapes()[ONE_HOST] if one.one_host else None)


def singles() -> list[Case]:
    return [single(one) for one in injectors().values()]


def healthy() -> list[Case]:
    """Nothing is wrong with these: changes of the lab, and labs of other shapes."""
    return [*(Case((one,)) for one in variants().values()), *(Case((), shape) for shape in shapes().values())]


def paired(count: int, seed: int) -> list[Case]:
    """Pairs of different faults, neither of which takes the whole cluster along, nor is the other's cause. Drawn by a
    hash of their names, so that most are the same when there is an injector more."""
    able = [one for one in injectors().values() if not (one.alone or one.one_host)]
    together = [pair for pair in combinations(able, 2) if compatible(*pair)]
    drawn = sorted(together, key=lambda pair: sha256(f"{seed} {Case(pair).name}".encode()).digest())
    return [Case(pair) for pair in drawn[:count]]


def compatible(one: Injector, other: Injector) -> bool:
    """A containerd whose files it cannot read can be given nothing else that starts it anew. A ufw that lets in what is
    not denied accepts new connections before the rules behind its own are reached: those then stop nothing."""
    if {one.name, other.name} == PASSED_BY:
        return False
    if STOPPED in (one.fault, other.fault) and all(it.fault == STOPPED or restarts(it) for it in (one, other)):
        return False
    return other.fault not in {one.fault, *graph().descendants(one.fault), *graph().ancestors(one.fault)}


def restarts(one: Injector) -> bool:
    return any("restart containerd" in script for script in one.host.values())


def order(names: Collection[str]) -> list[str]:
    """Those that there still are: single faults, what is healthy, pairs."""
    alone = [case.name for case in (*singles(), *healthy())]
    there = {one.name for one in injectors().values()}
    pairs = [name for name in names if PAIR in name and there.issuperset(name.split(PAIR))]
    return [name for name in (*alone, *pairs) if name in names]


def chosen(*, only: Sequence[str], pairs: int, seed: int, shard: str, calm: bool = False) -> list[Case]:
    """Raises LabError for a fault that there is not."""
    if only:
        found = [of_name(name) for name in only]
        ways = [single(one) for name in only for one in injectors().values() if one.fault == name]
        found = list({case.name: case for case in [*found, *ways]}.values())
    else:
        found = healthy() if calm else paired(pairs, seed) if pairs else singles()
    index, _, count = shard.partition("/")
    return found[int(index) - 1 :: int(count)]


def of_name(name: str) -> Case:
    if case := next((one for one in healthy() if one.name == name), None):
        return case
    if PAIR not in name:
        return single(find(name))
    return Case(tuple(find(part) for part in name.split(PAIR)))
