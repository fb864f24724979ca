"""A step: a tuple of checks with an id, a scope, and a playbook and a role of the same id."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from gpustack.ask.judge import Check
from gpustack.ask.probe import FactUnavailable, Probe
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory


def in_cluster(inventory: Inventory, host: Host) -> bool:
    return not host.standalone


def standalone(inventory: Inventory, host: Host) -> bool:
    return host.standalone


def every_host(inventory: Inventory, host: Host) -> bool:
    return True


@dataclass(frozen=True)
class Step:
    """`needs` are steps without which this one cannot be; those of `follows` only have to be played before it, and may
    still settle while it is played; `settle` is how long, in seconds, its checks may take to come true after the play,
    and `settle_by` says it where that depends on what is there; `probes` is what the checks read; `interrupts` says
    what stops meanwhile, if anything; `pulls`: hosts fetch images for it, and it has more time while they do. `applies`
    says which hosts the step is for, without more those of the cluster (a step of scope `cluster` applies when it
    applies to the acting control plane), and `without_kubernetes` which of its checks hosts without Kubernetes have,
    where these are not all."""

    id: str
    scope: Literal["host", "cluster"]
    probes: tuple[Probe[Any], ...]
    checks: tuple[Check, ...]
    needs: tuple[str, ...] = ()
    settle: int = 10
    applies: Callable[[Inventory, Host], bool] = in_cluster
    without_kubernetes: tuple[Check, ...] = ()
    settle_by: Callable[[View], int] | None = None
    follows: tuple[str, ...] = ()
    interrupts: str = ""
    pulls: bool = False

    @property
    def depends(self) -> tuple[str, ...]:
        return self.needs + self.follows

    def checks_of(self, host: Host) -> tuple[Check, ...]:
        return self.without_kubernetes if host.standalone and self.without_kubernetes else self.checks

    def settle_time(self, here: View) -> int:
        """In seconds; `settle` where that is unknown."""
        try:
            return self.settle_by(here) if self.settle_by else self.settle
        except FactUnavailable:
            return self.settle
