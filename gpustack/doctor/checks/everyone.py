"""What all hosts say of one thing, counted once for all of them."""

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from gpustack.ask.probe import CLUSTER, Probe
from gpustack.ask.view import View

Fact = TypeVar("Fact")


def counted(here: View, probe: Probe[Fact], key: Callable[[Fact], str]) -> Counter[str]:
    """How many hosts that told say the same. Kept beside the parsed facts it was made of: of 5,000 hosts each would
    else count all. What the others said is no evidence here but in the result."""
    place = (f"counted {probe.id} {key.__qualname__}", CLUSTER)
    known: dict[tuple[str, str], Any] = here.snapshot.parsed
    if place not in known:
        views = (View(here.snapshot, host.name) for host in here.hosts)
        known[place] = Counter(key(view[probe]) for view in views if view.told(probe))
    found: Counter[str] = known[place]
    return found
