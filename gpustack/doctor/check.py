"""A check of the doctor: what decides one id of the catalogue, with the probes that it reads.

    @check("host-swap-on", SWAP)
    def swap_on(here: View) -> Result:
        active = here[SWAP].active
        return Result("swap", "none in use", as_text(active), ok=not active)

The id is that of a fault or state, `ID guard` for the guard of a conditional fault, or `CAUSE -> EFFECT` for the
condition of an edge; a guard and a condition fail where they apply. A check is pure; where a fact is unavailable, the
outcome is unknown by itself. Each module of gpustack/doctor/checks/ lists its own in CHECKS.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from gpustack.ask.judge import Names, Result
from gpustack.ask.probe import Probe
from gpustack.ask.view import View

Blocks = Collection[tuple[Collection[str], Collection[str]]]
"""Every host of the first joined to every host of the second."""


@dataclass(frozen=True)
class Check:
    id: str
    function: Callable[[View], Result]
    probes: tuple[Probe[Any], ...]

    def __call__(self, here: View) -> Result:
        return self.function(here)


def check(id: str, *probes: Probe[Any]) -> Callable[[Callable[[View], Result]], Check]:
    return lambda function: Check(id, function, probes)


def guard_of(id: str) -> str:
    return f"{id} guard"


def names(**found: Collection[str]) -> Names:
    """By word of the catalogue, such as NAMESPACE, what was found; where that is several things, the word stays."""
    return tuple((word, min(values)) for word, values in found.items() if len(set(values)) == 1)
