"""What all hosts say of one thing, gone through once for all of them."""

from collections.abc import Callable
from typing import TypeVar

from gpustack.ask.probe import Probe
from gpustack.ask.view import View

Fact = TypeVar("Fact")


def hosts_by(here: View, probe: Probe[Fact], key: Callable[[Fact], str]) -> dict[str, list[str]]:
    """Hosts by what `key` makes of their fact, where there is one. What the others answered is no evidence here but in
    the result."""
    return here.once(grouped, probe, key)


def grouped(here: View, probe: Probe[Fact], key: Callable[[Fact], str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for view in (View(here.snapshot, host.name) for host in here.hosts):
        if view.available(probe):
            found.setdefault(key(view[probe]), []).append(view.where)
    return found
