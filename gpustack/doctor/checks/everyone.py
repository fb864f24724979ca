"""What all hosts say of one thing, gone through once for all of them."""

from collections.abc import Callable
from typing import TypeVar

from gpustack.ask.probe import Probe
from gpustack.ask.view import View

Fact = TypeVar("Fact")


def alike(here: View, probe: Probe[Fact], key: Callable[[Fact], str]) -> dict[str, list[str]]:
    """By what they say, the hosts that told. Of 5,000 hosts each would else
    ask all. What the others said is no evidence here but in the result."""

    def of_all() -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for view in (View(here.snapshot, host.name) for host in here.hosts):
            if view.told(probe):
                found.setdefault(key(view[probe]), []).append(view.where)
        return found

    return here.snapshot.shared(f"alike {probe.id} {key.__module__}.{key.__qualname__}", of_all)
