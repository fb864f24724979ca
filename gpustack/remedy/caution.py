"""Reasons why an automatic fix needs a confirmation of its own: it overrides what somebody set, or its step turns swap
off as well."""

from collections.abc import Callable, Iterable

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.doctor.entry import Remedy
from gpustack.probes.kernel.settings import SWAP, SYSCTL

NEEDS_SWAP_OFF = "prereqs"


def describe_cautions(remedy: Remedy, snapshot: Snapshot, hosts: Iterable[str]) -> str:
    """Describe on which hosts a remedy overrides or does more than its fault needs. Return an empty text where that is
    nowhere. A host that did not answer says so itself."""
    views = [View(snapshot, host) for host in hosts]
    cautions = [
        (view.location, describe_caution(describe, remedy, view)) for view in views for describe in DESCRIPTIONS
    ]
    return "; ".join(f"{host}: {text}" for host, text in cautions if text)


def describe_caution(describe: Callable[[Remedy, View], str], remedy: Remedy, view: View) -> str:
    try:
        return describe(remedy, view)
    except FactUnavailable as error:
        return str(error)


def describe_overridden_files(remedy: Remedy, view: View) -> str:
    """Describe the files that set a kernel parameter of the remedy to another value at boot."""
    if not remedy.sysctl:
        return ""
    last_settings = {key: settings[-1] for key, settings in view[SYSCTL].at_boot.items() if settings}
    overridden_settings = [
        f"{setting.file} sets {key} = {setting.value}"
        for key, setting in last_settings.items()
        if key in remedy.sysctl and setting.value != remedy.sysctl[key]
    ]
    return f"it overrides a file: {', '.join(overridden_settings)}" if overridden_settings else ""


def describe_swap(remedy: Remedy, view: View) -> str:
    """Describe that the step of the remedy turns swap off, too."""
    if remedy.step != NEEDS_SWAP_OFF or view.spec.swap == "keep" or not view[SWAP].active:
        return ""
    return "its step turns swap off as well"


DESCRIPTIONS = (describe_overridden_files, describe_swap)
