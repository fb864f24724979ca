"""What all hosts say of one thing, counted once for all of them."""

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from gpustack.ask.probe import Probe
from gpustack.ask.view import View

Fact = TypeVar("Fact")


def counted(here: View, probe: Probe[Fact], key: Callable[[Fact], str]) -> Counter[str]:
    """How many hosts that told say the same. Of 5,000 hosts each would else
    count all. What the others said is no evidence here but in the result."""

    def of_all() -> Counter[str]:
        views = (View(here.snapshot, host.name) for host in here.hosts)
        return Counter(key(view[probe]) for view in views if view.told(probe))

    return here.snapshot.shared(f"counted {probe.id} {key.__module__}.{key.__qualname__}", of_all)
