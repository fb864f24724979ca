"""A step: a tuple of checks with an id, a scope, and a playbook and a role of the same id."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from gpustack.ask.judge import Check
from gpustack.ask.probe import FactUnavailable, Probe
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory


def every_host(inventory: Inventory, host: Host) -> bool:
    return True


@dataclass(frozen=True)
class Step:
    """`needs` are steps without which this one cannot be; those of `follows` only have to be played before it, and may
    still settle while it is played; `settle` is how long, in seconds, its checks may take to come true after the play,
    and `settle_by` says it where that depends on what is there; `probes` is what the checks read; `interrupts` says
    what stops meanwhile, if anything; `pulls`: hosts fetch images for it, and it has more time while they do. `applies`
    says which hosts the step is for (a step of scope `cluster` applies when it applies to the acting control plane)."""

    id: str
    scope: Literal["host", "cluster"]
    probes: tuple[Probe[Any], ...]
    checks: tuple[Check, ...]
    needs: tuple[str, ...] = ()
    settle: int = 10
    applies: Callable[[Inventory, Host], bool] = every_host
    settle_by: Callable[[View], int] | None = None
    follows: tuple[str, ...] = ()
    interrupts: str = ""
    pulls: bool = False

    @property
    def depends(self) -> tuple[str, ...]:
        return self.needs + self.follows

    def settle_time(self, here: View) -> int:
        """In seconds; `settle` where that is unknown."""
        try:
            return self.settle_by(here) if self.settle_by else self.settle
        except FactUnavailable:
            return self.settle
