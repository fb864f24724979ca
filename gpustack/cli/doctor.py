"""`doctor`: the one root cause, with what it rests on and what mends it. It reads, and changes nothing."""

import gc
from typing import TYPE_CHECKING

import typer

from gpustack.cli import options

if TYPE_CHECKING:
    from pathlib import Path

    from gpustack.ask.snapshot import Snapshot


def doctor(
    inventory: options.InventoryOption = None,
    recording: options.FromOption = None,
    output: options.OutputOption = options.Output.HUMAN,
    verbose: options.VerboseOption = False,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Find out what is wrong: the root cause first, with its evidence, what it broke and what mends it."""
    from gpustack.cli import wiring

    if recording:
        # A large recording becomes millions of values that all stay: looking for cycles in them again and again takes
        # longer than judging them.
        gc.disable()
        snapshot = wiring.recorded(recording, quiet=quiet)
    else:
        snapshot = asked(inventory, ask_password=become, quiet=quiet)
    from gpustack.doctor.diagnose import diagnose
    from gpustack.report import show

    found = diagnose(snapshot)
    show.diagnosis(found, output.value, verbose=verbose)
    raise typer.Exit(show.doctor_code(found))


def asked(inventory: "Path | None", *, ask_password: bool, quiet: bool) -> "Snapshot":
    """Also of hosts that cannot be reached: that is what a doctor has to tell."""
    from gpustack.cli import wiring

    report = wiring.progress(quiet=quiet)
    hosts = wiring.opened(inventory, ask_password=ask_password, quiet=quiet)
    from gpustack.ask.gather import gather
    from gpustack.doctor.diagnose import questions

    return gather(hosts, questions(), report=report)
