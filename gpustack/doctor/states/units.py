"""Units of systemd that failed, or that it starts again and again."""

from collections.abc import Iterator

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.host.failed_units import FAILED_UNITS, FailedUnit
from gpustack.probes.host.units import PLATFORM_UNITS
from gpustack.probes.packages.dpkg import BUILD_ERRORS

SUCCESS_RESULT = "success"
"""systemd's result of a unit that did not fail. It is also that of a scope of a container that systemd has forgotten
since it was listed, and of a service that ended well for the first time and is about to be started again."""
BUILDER = "dkms.service"
"""The unit that builds kernel modules at boot, where the running kernel has none (dkms(8))."""


def observe_units(view: View) -> Iterator[AbnormalState]:
    for unit in view[FAILED_UNITS]:
        if unit.result == SUCCESS_RESULT and not unit.restarts:
            continue
        name = unit.name.removesuffix(".service")
        yield AbnormalState(
            "unit-failed",
            "broken" if name in PLATFORM_UNITS else "note",
            (view.location,),
            (f"unit {unit.name}",),
            describe_failure(unit),
            Command("journalctl", "-u", unit.name),
            unit.changed_at,
            unit.restarts,
            last_lines=list_build_errors(view) if unit.name == BUILDER else (),
        )


def list_build_errors(view: View) -> tuple[str, ...]:
    """List the errors of failed builds, each with its module: DKMS itself only says that one of them failed."""
    errors = view[BUILD_ERRORS] if view.has_fact(BUILD_ERRORS) else ()
    return tuple(f"{error.module}: {error.line}" for error in errors)


def describe_failure(unit: FailedUnit) -> str:
    """Describe how the unit ended, and the last words of its processes, each once."""
    result = "it ends well, and systemd starts it again and again" if unit.result == SUCCESS_RESULT else unit.result
    words = dict.fromkeys(filter(None, (result, unit.ending, *unit.messages)))
    return ": ".join(words)


OBSERVERS = (Observer("failed-units", "Units of systemd", observe_units, (FAILED_UNITS, BUILD_ERRORS), scope="host"),)
