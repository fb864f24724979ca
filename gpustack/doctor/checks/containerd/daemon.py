"""Faults of the layer `containerd` in what the running daemon serves, and what its files turn off."""

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Prose
from gpustack.doctor.check import check
from gpustack.probes.containerd.daemon import CONFIGURATION, FOLDER, RUNTIME
from gpustack.probes.containerd.refusal import REFUSAL
from gpustack.probes.host.units import UNITS

CRI = {"cri", "io.containerd.grpc.v1.cri"}
MOVING_REASON = "containerd is starting or stopping"


@check("containerd-cri-disabled", RUNTIME, UNITS, CONFIGURATION)
def cri_disabled(view: View) -> Result:
    """Check that a running containerd serves CRI: it may be disabled or have failed to load. A stopped containerd is
    another fault."""
    if view[RUNTIME]:
        return build_ok_result("CRI v1", "responding")
    unit = view[UNITS].get("containerd")
    if unit is None or not unit.active:
        return build_ok_result("containerd.service", "not installed" if unit is None else "not active")
    files = list_disabling_files(view)
    reason = describe_absence(files)
    return Result("CRI v1 of the running containerd", "responding", f"not responding: {reason}", certain=bool(files))


def list_disabling_files(view: View) -> list[str]:
    return [file for file, plugins in view[CONFIGURATION].disabled_plugins.items() if CRI & set(plugins)]


def describe_absence(files: list[str]) -> str:
    """Describe why a running containerd does not serve CRI, by the files that disable it."""
    return f"disabled by disabled_plugins in {format_value(files)}" if files else "failed to load"


@check("containerd-not-running", UNITS, CONFIGURATION, REFUSAL)
def not_running(view: View) -> Result:
    """Check that an installed containerd is running. Files that it cannot read, or refuses in words of its own, are
    reported as the reason."""
    unit = view[UNITS].get("containerd")
    if unit is None:
        return build_ok_result("containerd.service", "not installed")
    if unit.moving:
        raise FactUnavailable(MOVING_REASON)
    if unit.active:
        return build_ok_result("containerd.service", "active")
    parse_errors = view[CONFIGURATION].parse_errors if view.has_fact(CONFIGURATION) else {}
    reason = (
        f"; invalid TOML: {format_value([f'{name}: {error}' for name, error in parse_errors.items()])}"
        if parse_errors
        else ""
    )
    refusal = view[REFUSAL] if not parse_errors and view.has_fact(REFUSAL) else ""
    if refusal:
        person = Prose("containerd refuses its files ({}): correct them", refusal)
        return Result("containerd.service", "active", f"not active, {unit.file}; {refusal}", person=person)
    files = format_value([f"{FOLDER}{name}" for name in parse_errors])
    person = Prose("containerd cannot read {}: correct the file or move it away", files) if parse_errors else NO_HINT
    return Result("containerd.service", "active", f"not active, {unit.file}{reason}", person=person)


@check("st-runtime-down", RUNTIME, UNITS, CONFIGURATION)
def runtime_down(view: View) -> Result:
    if view[RUNTIME] is not None:
        return build_ok_result("CRI v1", "responding")
    if all(view[UNITS].get(name) is None for name in ("containerd", "kubelet")):
        return build_ok_result("CRI v1", "containerd and the kubelet are not installed")
    unit = view[UNITS].get("containerd")
    if unit and unit.moving:
        raise FactUnavailable(MOVING_REASON)
    is_loaded = unit is not None and unit.active and view.has_fact(CONFIGURATION)
    reason = f": {describe_absence(list_disabling_files(view))}" if is_loaded else ""
    return Result("CRI v1", "responding", f"not responding{reason}")
