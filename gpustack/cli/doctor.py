"""`doctor`: the one root cause, with what it rests on and what mends it. It changes something with --fix and --undo."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.fix import asked, fault_ids
from gpustack.cli.fix import fix as fixed
from gpustack.cli.fix import undo as taken_back
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
    fault: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="With --fix: only this fault.", autocompletion=fault_ids)
    ] = None,
    inventory: options.InventoryOption = None,
    recording: options.FromOption = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Do what a machine may do: show it, ask, do it, ask the hosts again.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("-y", "--yes", help="Do not ask before what is safe, or before an undo.")
    ] = False,
    yes_to: Annotated[
        list[str] | None,
        typer.Option("--yes-to", metavar="ID", help="Do not ask before this one (repeat).", autocompletion=fault_ids),
    ] = None,
    this_host: options.ThisHostOption = False,
    undo: Annotated[bool, typer.Option("--undo", help="Put back what the last fix changed.")] = False,
    metrics: MetricsOption = None,
    watch: WatchOption = False,
    every: EveryOption = 60,
    output: options.DoctorOutputOption = options.DoctorOutput.HUMAN,
    verbose: options.VerboseOption = False,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Find out what is wrong: the root cause first, with its evidence, what it broke and what mends it."""
    refuse(fault, recording, yes_to, output, fix=fix, undo=undo, watch=watch)
    if this_host and not (fix or undo):
        why = "Without --fix or --undo doctor only looks, and needs nobody's word for it."
        raise UsageError("fix-words", "--this-host goes with --fix and --undo.", why, "gpustack doctor")
    if fix or undo:
        from gpustack.cli import wiring

        report = wiring.progress(quiet=quiet)
        hosts = wiring.opened_to_change(inventory, this_host=this_host, yes=yes, ask_password=become, quiet=quiet)
        if undo:
            raise typer.Exit(taken_back(hosts, output.value, report, yes=yes))
        wanted = wiring.words([fault] if fault else None)
        raise typer.Exit(fixed(hosts, wanted, wiring.words(yes_to), output.value, report, yes=yes, verbose=verbose))
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


def refuse(
    fault: str | None,
    recording: Path | None,
    yes_to: list[str] | None,
    output: options.DoctorOutput,
    *,
    fix: bool,
    undo: bool,
    watch: bool,
) -> None:
    """Words that do not go together. Raises UsageError."""
    hint = "gpustack doctor --help"
    if recording and watch:
        why = "A recording never changes."
        raise UsageError("watch-of-recording", "--watch does not go with --from.", why, "gpustack doctor --watch")
    if watch and (fix or undo):
        raise UsageError("fix-words", "--watch does not go with --fix and --undo.", "It only looks.", hint)
    if recording and (fix or undo):
        why = "A recording is of hosts as they were; only hosts can be changed."
        raise UsageError("fix-of-recording", "--fix and --undo do not go with --from.", why, "gpustack doctor --fix")
    if fix and undo:
        raise UsageError("fix-words", "--fix does not go with --undo.", "They are each other's opposite.", hint)
    if (fault or yes_to) and not fix:
        why = "Without it, doctor only looks, and at everything."
        raise UsageError(
            "fix-words", "A fault is named to --fix only.", why, f"gpustack doctor --fix {fault or ''}".strip()
        )
    if (fix or undo) and output.value not in ("human", "json"):
        raise UsageError("fix-words", "A fix is told as human or json.", f"-o {output.value} is for looks.", hint)


def asking(inventory: Path | None, *, ask_password: bool, quiet: bool) -> "Callable[[], Snapshot]":
    """Asks anew each time, also hosts that cannot be reached: that is what a doctor has to tell."""
    from gpustack.cli import wiring

    hosts = wiring.opened(inventory, ask_password=ask_password, quiet=quiet, meanwhile=loaded)
    return lambda: asked(hosts, wiring.progress(quiet=quiet))


def loaded() -> None:
    """All checks, the catalogue, and what tells of them: half a second."""
    from importlib import import_module

    from gpustack.doctor.diagnose import questions
    from gpustack.doctor.graph import graph

    import_module("gpustack.report.doctor")
    questions()
    graph()


def replaying(recording: Path, *, quiet: bool) -> "Callable[[], Snapshot]":
    from gpustack.cli import wiring

    return lambda: wiring.recorded(recording, quiet=quiet)
