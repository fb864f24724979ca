"""Faults of the layer `containerd`: what the running daemon serves, and what its files turn off."""

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Prose
from gpustack.doctor.check import check
from gpustack.probes.containerd.daemon import CONFIGURATION, FOLDER, RUNTIME
from gpustack.probes.host.units import UNITS

CRI = {"cri", "io.containerd.grpc.v1.cri"}
MOVING = "containerd is starting or stopping"


def disabling(here: View) -> list[str]:
    return [file for file, plugins in here[CONFIGURATION].disabled.items() if CRI & set(plugins)]


@check("containerd-cri-disabled", RUNTIME, UNITS, CONFIGURATION)
def cri_disabled(here: View) -> Result:
    """containerd is running without CRI: disabled, or failed to load. A stopped containerd is another fault."""
    if here[RUNTIME]:
        return ok("CRI v1", "responding")
    unit = here[UNITS].get("containerd")
    if unit is None or not unit.active:
        return ok("containerd.service", "not installed" if unit is None else "not active")
    files = disabling(here)
    why = f"disabled by disabled_plugins in {as_text(files)}" if files else "failed to load"
    return Result("CRI v1 of the running containerd", "responding", f"not responding: {why}")


@check("containerd-not-running", UNITS, CONFIGURATION)
def not_running(here: View) -> Result:
    """Not applicable if containerd is not installed. A file that it cannot read is reported as the reason."""
    unit = here[UNITS].get("containerd")
    if unit is None:
        return ok("containerd.service", "not installed")
    if unit.moving:
        raise FactUnavailable(MOVING)
    if unit.active:
        return ok("containerd.service", "active")
    broken = here[CONFIGURATION].broken if here.available(CONFIGURATION) else {}
    why = f"; invalid TOML: {as_text([f'{name}: {wrong}' for name, wrong in broken.items()])}" if broken else ""
    files = as_text([f"{FOLDER}{name}" for name in broken])
    person = Prose("containerd cannot read {}: correct the file or move it away", files) if broken else NO_HINT
    return Result("containerd.service", "active", f"not active, {unit.file}{why}", person=person)


@check("st-runtime-down", RUNTIME, UNITS)
def runtime_down(here: View) -> Result:
    found = here[RUNTIME] is not None
    if not found and (unit := here[UNITS].get("containerd")) and unit.moving:
        raise FactUnavailable(MOVING)
    return Result("CRI v1", "responding", "responding" if found else "not responding", ok=bool(found))


CHECKS = (cri_disabled, not_running, runtime_down)
