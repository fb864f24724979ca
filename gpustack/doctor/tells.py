"""How checks are registered: by the id of what they tell, with the probes that they read.

    @tells("host-swap-on", SWAP)
    def swap_on(here: View) -> Told:
        found = here[SWAP].active
        return Told(bool(found), "swap in use", "nothing", said(found))

The id is that of a fault or state, `ID guard` for the guard of a conditional fault, or `CAUSE -> EFFECT` for the
condition of an edge. A check is pure; where a fact is unavailable the outcome becomes unknown by itself. Each id has
one check, in a module of gpustack/doctor/checks/, which is found by being there.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypedDict, Unpack

from gpustack.ask.probe import Probe
from gpustack.ask.view import View

Names = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Told:
    """`confirmed`: it is so; else `found` is the value that refutes it. The words are as in a Mismatch. Where only one
    of both can be meant, `confirmed()` and `refuted()` make it. `quote` are words of the line of an answer that says
    it, all of them on it; `names` what stands for a word in the commands of the catalogue (see `names()`);
    `person` why the remedy of the catalogue does not fix it, found like this, and what a person has to do."""

    confirmed: bool
    what: str
    expected: str
    found: str
    quote: str = ""
    names: Names = ()
    person: str = ""

    def __str__(self) -> str:
        if self.confirmed and self.expected:
            return f"{self.what}: expected {self.expected}, found {self.found}"
        return f"{self.what}: {self.found}"


class More(TypedDict, total=False):
    """As in Told."""

    names: Names
    person: str


def confirmed(what: str, expected: str, found: str, quote: str = "", **more: Unpack[More]) -> Told:
    return Told(True, what, expected, found, quote, **more)  # noqa: FBT003 - this is its name


def names(**found: Collection[str]) -> Names:
    """By word of the catalogue, such as NAMESPACE, what was found; where that is several things, the word stays."""
    return tuple((word, min(values)) for word, values in found.items() if len(set(values)) == 1)


@lru_cache(maxsize=4096)
def refuted(what: str, found: str) -> Told:
    return Told(False, what, "", found)  # noqa: FBT003 - this is its name


Tell = Callable[[View], Told]
Blocks = Collection[tuple[Collection[str], Collection[str]]]
"""Every host of the first joined to every host of the second."""
Pair = Callable[[View], Blocks]


@dataclass(frozen=True)
class Teller:
    id: str
    tell: Tell
    probes: tuple[Probe[Any], ...]


@dataclass(frozen=True)
class Registry:
    """Checks by id, and who joins hosts, by name."""

    tellers: dict[str, Teller] = field(default_factory=dict)
    pairs: dict[str, Pair] = field(default_factory=dict)

    @property
    def probes(self) -> tuple[Probe[Any], ...]:
        return tuple({probe.id: probe for one in self.tellers.values() for probe in one.probes}.values())


FOUND = Registry()


def guard_of(id: str) -> str:
    return f"{id} guard"


def tells(id: str, *probes: Probe[Any]) -> Callable[[Tell], Tell]:
    """Raises ValueError for an id that has its check already."""

    def register(tell: Tell) -> Tell:
        if id in FOUND.tellers:
            raise ValueError(f"{id} is told twice")
        FOUND.tellers[id] = Teller(id, tell, probes)
        return tell

    return register


def pairs(name: str) -> Callable[[Pair], Pair]:
    """Registers who joins hosts of an edge between different ones (graph_pairs of the catalogue)."""

    def register(pair: Pair) -> Pair:
        if name in FOUND.pairs:
            raise ValueError(f"{name} joins hosts twice")
        FOUND.pairs[name] = pair
        return pair

    return register


@cache
def registry() -> Registry:
    """All that stand in gpustack/doctor/checks/."""
    package = import_module("gpustack.doctor.checks")
    for module in sorted(iter_modules(package.__path__), key=lambda one: one.name):
        import_module(f"{package.__name__}.{module.name}")
    return FOUND


def blocks(asked: Registry, here: View) -> Mapping[str, Blocks]:
    """Which hosts each pair joins. One that cannot be told joins none but the host itself."""
    return {name: pair(here) for name, pair in asked.pairs.items()}
