"""The command `gpustack doctor`, which finds the root cause of a problem. It is read-only without --fix and --undo."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.command import Command
from gpustack.errors import UsageError
from gpustack.report.renderings import DIAGNOSIS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpustack.ask.snapshot import Snapshot

MetricsOption = Annotated[
    Path | None,
    typer.Option(
        "--metrics",
        metavar="FILE",
        help="Write the findings as metrics to this file, for the textfile collector of node-exporter.",
    ),
]
WatchOption = Annotated[
    bool, typer.Option("--watch", help="Check repeatedly, and print only changes after the first report.")
]
EveryOption = Annotated[
    int, typer.Option("--every", min=1, metavar="SECONDS", help="Seconds between two checks of --watch.")
]

FIXED, PAST = "A recording never changes.", "A recording is of hosts as they were; only hosts can be changed."
FORMATS = "--fix and --undo support -o human and -o json only."


def complete_fault(incomplete: str) -> list[str]:
    """List the ids of faults that have an automatic fix, for shell completion."""
    from gpustack.doctor.graph import load_graph

    return [id for id, fault in load_graph().faults.items() if fault.remedy and id.startswith(incomplete)]


def doctor(
    fault: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="Fix only this root cause; requires --fix.", autocompletion=complete_fault),
    ] = None,
    inventory: options.InventoryOption = None,
    recording: options.FromOption = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Apply automatic fixes after confirmation, then check again.")
    ] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "-y", "--yes", help="Do not ask for confirmation of automatic fixes, of their rollback, or of --undo."
        ),
    ] = False,
    yes_to: Annotated[
        list[str] | None,
        typer.Option(
            "--yes-to",
            metavar="ID",
            help="Do not ask for confirmation of this fix and of its rollback (repeatable).",
            autocompletion=complete_fault,
        ),
    ] = None,
    without_lock: options.WithoutLockOption = None,
    this_host: options.ThisHostOption = False,
    undo: Annotated[bool, typer.Option("--undo", help="Roll back the last fix.")] = False,
    metrics: MetricsOption = None,
    watch: WatchOption = False,
    interval: EveryOption = 60,
    output: Annotated[str, DIAGNOSIS] = "human",
    verbose: options.VerboseOption = False,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Find the root cause of a problem, with its evidence, its impact and how to fix it.

    The command is read-only without --fix and --undo.
    """
    refuse_invalid_options(
        fault, recording, yes_to, output, fix=fix, undo=undo, yes=yes, watch=watch, this_host=this_host
    )
    if fix or undo:
        report = session.build_reporter(quiet=quiet)
        hosts = session.open_for_change(inventory, this_host=this_host, yes=yes, ask_password=become, quiet=quiet)
        from gpustack.cli.fix import run_fix, run_undo

        if undo:
            raise typer.Exit(run_undo(hosts, output, report, yes=yes, without_lock=without_lock))
        faults = session.split_words(None if fault is None else [fault])
        raise typer.Exit(
            run_fix(
                hosts,
                faults,
                session.split_words(yes_to),
                output,
                report,
                yes=yes,
                verbose=verbose,
                without_lock=without_lock,
            )
        )
    read = make_reader(inventory, recording, ask_password=become, quiet=quiet)
    from gpustack.cli.doctor_watch import Watcher, make_check, run_rounds

    check = make_check(read, Watcher(output, verbose=verbose), metrics)
    raise typer.Exit(run_rounds(interval, check) if watch else check())


def refuse_invalid_options(
    fault: str | None,
    recording: Path | None,
    yes_to: list[str] | None,
    output: str,
    *,
    fix: bool,
    undo: bool,
    yes: bool,
    watch: bool,
    this_host: bool,
) -> None:
    """Raise UsageError for options that exclude each other, or that require another option."""
    changes, read_only = fix or undo, "Without --fix or --undo, doctor is read-only."
    refusals = (
        (recording and watch, "watch-of-recording", "--watch and --from are mutually exclusive.", FIXED, "--watch"),
        (watch and changes, "invalid-options", "--watch excludes --fix and --undo.", "--watch is read-only.", "--help"),
        (recording and changes, "fix-of-recording", "--from excludes --fix and --undo.", PAST, "--fix"),
        (fix and undo, "invalid-options", "--fix and --undo are mutually exclusive.", "", ["--help"]),
        (
            (fault or yes_to) and not fix,
            "invalid-options",
            "ID and --yes-to require --fix.",
            read_only,
            ["--fix", *([fault] if fault else [])],
        ),
        (changes and output not in ("human", "json"), "invalid-options", FORMATS, "", ["--help"]),
        (yes and not changes, "invalid-options", "--yes requires --fix or --undo.", read_only, ["--fix", "--yes"]),
        (this_host and not changes, "invalid-options", "--this-host requires --fix or --undo.", read_only, ["--help"]),
    )
    for applies, reference, message, reason, option in refusals:
        if applies:
            raise UsageError(reference, message, reason, Command("gpustack", "doctor", *option))


def make_reader(
    inventory: Path | None, recording: Path | None, *, ask_password: bool, quiet: bool
) -> "Callable[[], Snapshot]":
    """Return a function that gathers the answers of the hosts, or reads the recording. It raises no error for hosts
    that are unreachable, because doctor reports them."""
    if recording:
        return lambda: session.load_recording(recording, inventory, quiet=quiet)
    hosts = session.open_inventory(inventory, ask_password=ask_password, quiet=quiet)
    from gpustack.ask.gather import gather
    from gpustack.doctor.diagnose import list_probes

    return lambda: gather(hosts, list_probes(), report=session.build_reporter(quiet=quiet))
