"""A step: a tuple of checks with an id, a scope, and a playbook and a role of the same id."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from gpustack.ask.judge import Check
from gpustack.ask.probe import FactUnavailable, Probe
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory


def is_in_cluster(inventory: Inventory, host: Host) -> bool:
    return not host.standalone


def accepts_any_host(inventory: Inventory, host: Host) -> bool:
    return True


@dataclass(frozen=True)
class Step:
    """Describe a step. `needs` are steps without which this one cannot be; `predecessors` only have to be played before
    it, and may still settle while it is played. `settle_seconds` is how long, in seconds, its checks may take to come
    true after the play; `settle_estimate` computes that where it depends on the facts. `probes` is what the checks
    read. `interrupts` says what stops meanwhile, if anything. `pulls` tells whether hosts fetch images for it: it has
    more time while they do. `applies` selects the hosts of the step, by default those of the cluster (a step of scope
    `cluster` applies when it applies to the acting control plane). `standalone_checks` are the checks of hosts without
    Kubernetes, where these are not all."""

    id: str
    scope: Literal["host", "cluster"]
    probes: tuple[Probe[Any], ...]
    checks: tuple[Check, ...]
    needs: tuple[str, ...] = ()
    settle_seconds: int = 10
    applies: Callable[[Inventory, Host], bool] = is_in_cluster
    standalone_checks: tuple[Check, ...] = ()
    settle_estimate: Callable[[View], int] | None = None
    predecessors: tuple[str, ...] = ()
    interrupts: str = ""
    pulls: bool = False

    @property
    def dependencies(self) -> tuple[str, ...]:
        return self.needs + self.predecessors

    def list_checks(self, host: Host) -> tuple[Check, ...]:
        return self.standalone_checks if host.standalone and self.standalone_checks else self.checks

    def compute_settle_seconds(self, view: View) -> int:
        """Compute the time to settle in seconds; `settle_seconds` where the estimate is unknown."""
        try:
            return self.settle_estimate(view) if self.settle_estimate else self.settle_seconds
        except FactUnavailable:
            return self.settle_seconds
