"""Cases of the accuracy run: each variant of each fault that the lab can make, or random pairs of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations

from gpustack.doctor.graph import load_graph
from gpustack_lab.lab.faults.entries import Injector, find, read_healthy_changes, read_injectors
from scripts.accuracy.shapes import ONE_HOST, Shape, load_shapes

HEALTHY = "healthy"
INCOMPATIBLE_PAIR = {"host-ufw-blocks-pods/deny", "host-cloud-image-reject-rules/image"}
CONTAINERD_FAULT = "containerd-not-running"
PAIR = " + "


@dataclass(frozen=True)
class Case:
    """Describe a case; with a `shape` it is in a lab of its own. A variant that is healthy has no faults."""

    injectors: tuple[Injector, ...]
    shape: Shape | None = None

    @property
    def name(self) -> str:
        return (
            PAIR.join(injector.name for injector in self.injectors)
            or f"{HEALTHY}/{self.shape.name if self.shape else ''}"
        )

    @property
    def faults(self) -> tuple[str, ...]:
        return tuple(sorted({injector.fault for injector in self.injectors} - {HEALTHY}))


def build_single(injector: Injector) -> Case:
    return Case((injector,), load_shapes()[ONE_HOST] if injector.one_host else None)


def list_singles() -> list[Case]:
    return [build_single(injector) for injector in read_injectors().values()]


def list_healthy() -> list[Case]:
    """List the healthy cases: changes of the lab, and labs of other shapes."""
    return [
        *(Case((variant,)) for variant in read_healthy_changes().values()),
        *(Case((), shape) for shape in load_shapes().values()),
    ]


def draw_pairs(count: int, seed: int) -> list[Case]:
    """Draw pairs of different faults, neither of which takes the whole cluster along, nor is the other's cause. They
    are drawn by a hash of their names, so that most stay the same when there is an injector more."""
    candidates = [injector for injector in read_injectors().values() if not (injector.alone or injector.one_host)]
    compatible_pairs = [pair for pair in combinations(candidates, 2) if are_compatible(*pair)]
    ordered_pairs = sorted(compatible_pairs, key=lambda pair: sha256(f"{seed} {Case(pair).name}".encode()).digest())
    return [Case(pair) for pair in ordered_pairs[:count]]


def are_compatible(injector: Injector, other_injector: Injector) -> bool:
    """Tell whether two injectors can be combined. A containerd whose files it cannot read can be given nothing else
    that restarts it. A ufw that lets in what is not denied accepts new connections before the rules behind its own are
    reached: those then stop nothing."""
    if {injector.name, other_injector.name} == INCOMPATIBLE_PAIR:
        return False
    if CONTAINERD_FAULT in (injector.fault, other_injector.fault) and all(
        candidate.fault == CONTAINERD_FAULT or does_restart_containerd(candidate)
        for candidate in (injector, other_injector)
    ):
        return False
    return other_injector.fault not in {
        injector.fault,
        *load_graph().find_descendants(injector.fault),
        *load_graph().find_ancestors(injector.fault),
    }


def does_restart_containerd(injector: Injector) -> bool:
    return any("restart containerd" in script for script in injector.host.values())


def order_names(names: Collection[str]) -> list[str]:
    """Order the names that still exist: single faults, healthy cases, pairs."""
    single_names = [case.name for case in (*list_singles(), *list_healthy())]
    injector_names = {injector.name for injector in read_injectors().values()}
    pairs = [name for name in names if PAIR in name and injector_names.issuperset(name.split(PAIR))]
    return [name for name in (*single_names, *pairs) if name in names]


def choose_cases(*, fault_names: Sequence[str], pairs: int, seed: int, shard: str, calm: bool = False) -> list[Case]:
    """Choose the cases of a run. Raise LabError for an unknown fault."""
    if fault_names:
        cases = [find_case(name) for name in fault_names]
        variants = [
            build_single(injector)
            for name in fault_names
            for injector in read_injectors().values()
            if injector.fault == name
        ]
        cases = list({case.name: case for case in [*cases, *variants]}.values())
    else:
        cases = list_healthy() if calm else draw_pairs(pairs, seed) if pairs else list_singles()
    index, _, count = shard.partition("/")
    return cases[int(index) - 1 :: int(count)]


def find_case(name: str) -> Case:
    if case := next((candidate for candidate in list_healthy() if candidate.name == name), None):
        return case
    if PAIR not in name:
        return build_single(find(name))
    return Case(tuple(find(part) for part in name.split(PAIR)))
