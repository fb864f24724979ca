"""Faults of the layer `containerd`: what the running daemon serves, and what its files turn off."""

from gpustack.ask.judge import said
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.tells import Told, confirmed, refuted, tells
from gpustack.probes.containerd import CONFIGURATION, FOLDER, RUNTIME
from gpustack.probes.units import UNITS

CRI = {"cri", "io.containerd.grpc.v1.cri"}
MOVING = "containerd is just being started or stopped"


def disabling(here: View) -> list[str]:
    return [file for file, plugins in here[CONFIGURATION].disabled.items() if CRI & set(plugins)]


@tells("containerd-cri-disabled", RUNTIME, UNITS, CONFIGURATION)
def cri_disabled(here: View) -> Told:
    """The daemon runs and does not serve CRI: turned off, or it failed to load. One that is down is another fault."""
    if here[RUNTIME]:
        return refuted("CRI v1", "answers")
    unit = here[UNITS].get("containerd")
    if unit is None or not unit.active:
        return refuted("containerd.service", "not installed" if unit is None else "not active")
    files = disabling(here)
    why = f"turned off by disabled_plugins in {said(files)}" if files else "it failed to load"
    return confirmed("CRI v1 of the running containerd", "answers", f"does not answer: {why}")


@tells("containerd-not-running", UNITS, CONFIGURATION)
def not_running(here: View) -> Told:
    """Not applicable where it is not installed. A file that it cannot read is why."""
    unit = here[UNITS].get("containerd")
    if unit is None:
        return refuted("containerd.service", "not installed")
    if unit.moving:
        raise FactUnavailable(MOVING)
    if unit.active:
        return refuted("containerd.service", "active")
    broken = here[CONFIGURATION].broken if here.told(CONFIGURATION) else {}
    why = f"; no TOML: {said([f'{name}: {wrong}' for name, wrong in broken.items()])}" if broken else ""
    files = said([f"{FOLDER}{name}" for name in broken])
    person = f"it starts again when it can read {files}: correct that, or move it aside" if broken else ""
    return confirmed("containerd.service", "active", f"not active, {unit.file}{why}", person=person)


@tells("st-runtime-down", RUNTIME, UNITS)
def runtime_down(here: View) -> Told:
    found = here[RUNTIME] is not None
    if not found and (unit := here[UNITS].get("containerd")) and unit.moving:
        raise FactUnavailable(MOVING)
    return Told(not found, "CRI v1", "answers", "answers" if found else "does not answer")
