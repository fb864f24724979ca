"""A step: a tuple of checks with an id, a scope, and a playbook and a role of the same id."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal

from gpustack.ask.judge import Check, Result
from gpustack.ask.probe import FactUnavailable, Probe
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory


def accepts_any_host(host: Host) -> bool:
    return True


def accepts_any_inventory(inventory: Inventory) -> bool:
    return True


def check_where(condition: Callable[[View], object], *checks: Check) -> tuple[Check, ...]:
    """Return the checks under their own names, with nothing to say where the condition does not hold."""

    def add_condition(check: Check) -> Check:
        @wraps(check)
        def judge(view: View) -> Result | None:
            return check(view) if condition(view) else None

        return judge

    return tuple(map(add_condition, checks))


@dataclass(frozen=True)
class Step:
    """Describe a step. `needs` are steps without which this one cannot be; `predecessors` only have to be played before
    it, and may still settle while it is played. `settle_seconds` is how long, in seconds, its checks may take to come
    true after the play; `settle_estimate` computes that where it depends on the facts. `probes` is what the checks
    read. `interrupts` says what stops meanwhile, if anything. `pulls` tells whether hosts fetch images for it: it has
    more time while they do. `is_enabled` tells whether an inventory asks for the step, and `includes_host` selects its
    hosts: by default those of the cluster, and for scope `cluster` its control planes (the acting one is played).
    `standalone_checks` are the checks of hosts without Kubernetes, where these are not all."""

    id: str
    scope: Literal["host", "cluster"]
    probes: tuple[Probe[Any], ...]
    checks: tuple[Check, ...]
    needs: tuple[str, ...] = ()
    settle_seconds: int = 10
    is_enabled: Callable[[Inventory], bool] = accepts_any_inventory
    includes_host: Callable[[Host], bool] | None = None
    standalone_checks: tuple[Check, ...] = ()
    settle_estimate: Callable[[View], int] | None = None
    predecessors: tuple[str, ...] = ()
    interrupts: str = ""
    pulls: bool = False

    @property
    def dependencies(self) -> tuple[str, ...]:
        return self.needs + self.predecessors

    def applies(self, inventory: Inventory, host: Host) -> bool:
        if self.includes_host:
            return self.includes_host(host) and self.is_enabled(inventory)
        return (host.control_plane if self.scope == "cluster" else not host.standalone) and self.is_enabled(inventory)

    def list_checks(self, host: Host) -> tuple[Check, ...]:
        return self.standalone_checks if host.standalone and self.standalone_checks else self.checks

    def compute_settle_seconds(self, view: View) -> int:
        """Compute the time to settle in seconds; `settle_seconds` where the estimate is unknown."""
        try:
            return self.settle_estimate(view) if self.settle_estimate else self.settle_seconds
        except FactUnavailable:
            return self.settle_seconds


def select_probes(steps: Iterable[Step], inventory: Inventory) -> tuple[Probe[Any], ...]:
    """Select the probes of the steps that an inventory asks for on one of its hosts: nobody judges what others read."""
    chosen_steps = [step for step in steps if any(step.applies(inventory, host) for host in inventory.hosts)]
    return tuple({probe.id: probe for step in chosen_steps for probe in step.probes}.values())


def format_check_name(check: Check) -> str:
    return check.__name__.replace("_", "-")
