"""`doctor`: the one root cause, with what it rests on and what mends it. It reads, and changes nothing."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpustack.ask.snapshot import Snapshot

MetricsOption = Annotated[
    Path | None,
    typer.Option("--metrics", help="Also write the findings there as metrics, for node-exporter's textfile collector."),
]
WatchOption = Annotated[
    bool, typer.Option("--watch", help="Ask again and again; after the first time print only what changed.")
]
EveryOption = Annotated[int, typer.Option("--every", min=1, metavar="SECONDS", help="How often --watch asks.")]


def doctor(
    inventory: options.InventoryOption = None,
    recording: options.FromOption = None,
    metrics: MetricsOption = None,
    watch: WatchOption = False,
    every: EveryOption = 60,
    output: options.DoctorOutputOption = options.DoctorOutput.HUMAN,
    verbose: options.VerboseOption = False,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Find out what is wrong: the root cause first, with its evidence, what it broke and what mends it."""
    refuse(recording, watch=watch)
    read = replaying(recording, quiet=quiet) if recording else asking(inventory, ask_password=become, quiet=quiet)
    from gpustack.cli.watching import Watcher, rounds
    from gpustack.doctor.diagnose import diagnose
    from gpustack.report import show

    watcher = Watcher(output.value, verbose=verbose)

    def made() -> int:
        found = diagnose(read())
        if metrics:
            from gpustack.report.doctor_metrics import write

            write(found, metrics)
        watcher.show(found)
        return show.doctor_code(found)

    raise typer.Exit(rounds(every, made) if watch else made())


def refuse(recording: Path | None, *, watch: bool) -> None:
    if recording and watch:
        why = "A recording never changes."
        raise UsageError("watch-of-recording", "--watch does not go with --from.", why, "gpustack doctor --watch")


def asking(inventory: Path | None, *, ask_password: bool, quiet: bool) -> "Callable[[], Snapshot]":
    """Asks anew each time, also hosts that cannot be reached: that is what a doctor has to tell."""
    from gpustack.cli import wiring

    hosts = wiring.opened(inventory, ask_password=ask_password, quiet=quiet)
    from gpustack.ask.gather import gather
    from gpustack.doctor.diagnose import questions

    return lambda: gather(hosts, questions(), report=wiring.progress(quiet=quiet))


def replaying(recording: Path, *, quiet: bool) -> "Callable[[], Snapshot]":
    from gpustack.cli import wiring

    # A large recording becomes millions of values that all stay: looking for cycles in them again and again takes
    # longer than judging them.
    gc.disable()
    return lambda: wiring.recorded(recording, quiet=quiet)
