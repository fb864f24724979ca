"""Checks that the exporters' and the monitoring's programs have in common."""

from collections.abc import Sequence

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.versions import version_set
from gpustack.probes.standalone.units import PROGRAMS
from gpustack.steps.standalone.files import Wanted


def engine_version(here: View) -> str:
    """Of the pair that the exporter's tag names; a package has the epoch 1 before it."""
    return version_set(here.spec.versions).components["dcgm"]


def exporter_version(here: View) -> str:
    return version_set(here.spec.versions).components["dcgm-exporter"].rpartition("-")[2]


def others_units(here: View, wanted: Sequence[Wanted], packages: Sequence[str] = ()) -> Result | None:
    """Programs that somebody else set up: they are not taken over."""
    found, names = here[PROGRAMS], (one.unit for one in wanted)
    theirs = [name for name in names if (unit := found.units.get(name)) and not unit.mine]
    if not theirs:
        return None
    hint = Command("apt-get", "remove", *theirs, note="or leave it as it is: monitoring.enabled: false in the spec")
    return Result("programs that gpustack did not set up", "none", as_text(theirs), "operator", hint=hint)


def wrong_commands(here: View, wanted: Sequence[Wanted]) -> Result | None:
    """Programs that do not run with the wanted command line, or do not start at boot."""
    wrong = []
    for one in wanted:
        found = here[PROGRAMS].units.get(one.unit)
        if found is None or not found.active:
            wrong.append(f"{one.unit}: {'not active' if found else 'not installed'}")
        elif found.command != one.command:
            wrong.append(f"{one.unit}: with other settings")
        elif not found.enabled:
            wrong.append(f"{one.unit}: not enabled at boot")
    return Result("programs", "running with the settings of the spec", "; ".join(wrong)) if wrong else None
