"""Checks that the exporters' and the monitoring's programs have in common."""

from collections.abc import Sequence

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.versions import read_version_set
from gpustack.probes.standalone.units import PROGRAMS
from gpustack.steps.standalone.files import Service


def select_engine_version(view: View) -> str:
    """Select the engine of the pair that the exporter's tag names; a package has the epoch 1 before it."""
    return read_version_set(view.spec.versions).components["dcgm"]


def select_exporter_version(view: View) -> str:
    return read_version_set(view.spec.versions).components["dcgm-exporter"].rpartition("-")[2]


def find_foreign_units(view: View, services: Sequence[Service], packages: Sequence[str] = ()) -> Result | None:
    """Find programs that somebody else set up: they are not taken over."""
    programs, names = view[PROGRAMS], (service.unit for service in services)
    foreign_units = [name for name in names if (unit := programs.units.get(name)) and not unit.has_drop_in]
    if not foreign_units:
        return None
    hint = Command(
        "apt-get", "remove", *foreign_units, note="or leave it as it is: monitoring.enabled: false in the spec"
    )
    return Result("programs that gpustack did not set up", "none", format_value(foreign_units), "operator", hint=hint)


def find_command_mismatch(view: View, services: Sequence[Service]) -> Result | None:
    """Find programs that do not run with the expected command line, or do not start at boot."""
    differences = []
    for service in services:
        program = view[PROGRAMS].units.get(service.unit)
        if program is None or not program.active:
            differences.append(f"{service.unit}: {'not active' if program else 'not installed'}")
        elif program.command != service.command:
            differences.append(f"{service.unit}: with other settings")
        elif not program.enabled:
            differences.append(f"{service.unit}: not enabled at boot")
    return Result("programs", "running with the settings of the spec", "; ".join(differences)) if differences else None
