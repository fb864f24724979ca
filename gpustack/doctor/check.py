"""Checks of the doctor: each decides one id of the catalogue, and names the probes that it reads.

    @check("host-swap-on", SWAP)
    def swap_on(view: View) -> Result:
        active = view[SWAP].active
        return Result("swap", "none in use", format_value(active), ok=not active)

The id is that of a fault or state, `ID guard` for the guard of a conditional fault, or `CAUSE -> EFFECT` for the
condition of an edge; a guard and a condition fail where they apply. A check is pure; where a fact is unavailable, the
outcome is unknown without further code. CHECKS of gpustack/doctor/checks has those of all
its modules.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from gpustack.ask.judge import Names, Result, build_ok_result, format_value
from gpustack.ask.probe import Api, Probe
from gpustack.ask.view import View
from gpustack.doctor.entry import GUARD

Blocks = Collection[tuple[Collection[str], Collection[str]]]
"""Pairs of groups: all hosts of the first group are joined to all hosts of the second."""


@dataclass(frozen=True)
class Check:
    """Hold a check function with its id and its probes. A call judges one view."""

    id: str
    function: Callable[[View], Result]
    probes: tuple[Probe[Any], ...]

    def __call__(self, view: View) -> Result:
        if not view.spec.monitoring.enabled and any(map(needs_monitoring, self.probes)):
            return build_ok_result("monitoring", "disabled in the spec")
        return self.function(view)


def needs_monitoring(probe: Probe[Any]) -> bool:
    """Tell whether a probe asks a service of the monitoring release, which is absent where the spec disables it."""
    return isinstance(probe.question, Api) and "/services/http:$RELEASE-" in probe.question.path


def check(id: str, *probes: Probe[Any]) -> Callable[[Callable[[View], Result]], Check]:
    """Declare a function as the check of an id."""
    return lambda function: Check(id, function, probes)


def build_guard_id(id: str) -> str:
    return f"{id}{GUARD}"


def build_names(**placeholders: Collection[str]) -> Names:
    """Build the values for words of the catalogue, such as NAMESPACE, from what was found. A word with several values
    is left out, and stays as it is."""
    return tuple((word, min(values)) for word, values in placeholders.items() if len(set(values)) == 1)


def expect_none(subject: str, expected: str, differences: Collection[str], ok_state: str) -> Result:
    """Build a result that names differences. Without any it is ok, and `ok_state` is the actual value."""
    return Result(subject, expected, format_value(differences) if differences else ok_state, ok=not differences)
