"""`doctor`: the one root cause, with what it rests on and what mends it. It changes something with --fix and --undo."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.fix import fault_ids
from gpustack.cli.fix import fix as fixed
from gpustack.cli.fix import undo as taken_back
from gpustack.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from gpustack.ask.snapshot import Snapshot


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
    undo: Annotated[bool, typer.Option("--undo", help="Put back what the last fix changed.")] = False,
    output: options.OutputOption = options.Output.HUMAN,
    verbose: options.VerboseOption = False,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Find out what is wrong: the root cause first, with its evidence, what it broke and what mends it."""
    from gpustack.cli import wiring

    refuse(fault, recording, yes_to, output, fix=fix, undo=undo)
    if fix or undo:
        report = wiring.progress(quiet=quiet)
        hosts = wiring.opened(inventory, ask_password=become, quiet=quiet)
        if undo:
            raise typer.Exit(taken_back(hosts, output.value, report, yes=yes))
        wanted = wiring.words([fault] if fault else None)
        raise typer.Exit(fixed(hosts, wanted, wiring.words(yes_to), output.value, report, yes=yes, verbose=verbose))
    if recording:
        snapshot = wiring.recorded(recording, quiet=quiet)
    else:
        snapshot = asked(inventory, ask_password=become, quiet=quiet)
    from gpustack.doctor.diagnose import diagnose
    from gpustack.report import show

    found = diagnose(snapshot)
    show.diagnosis(found, output.value, verbose=verbose)
    raise typer.Exit(show.doctor_code(found))


def refuse(
    fault: str | None,
    recording: "Path | None",
    yes_to: list[str] | None,
    output: options.Output,
    *,
    fix: bool,
    undo: bool,
) -> None:
    """Words that do not go together. Raises UsageError."""
    hint = "gpustack doctor --help"
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
    if (fix or undo) and output not in (options.Output.HUMAN, options.Output.JSON):
        raise UsageError("fix-words", "A fix is told as human or json.", f"-o {output.value} is for looks.", hint)


def asked(inventory: "Path | None", *, ask_password: bool, quiet: bool) -> "Snapshot":
    """Also of hosts that cannot be reached: that is what a doctor has to tell."""
    from gpustack.cli import wiring

    report = wiring.progress(quiet=quiet)
    hosts = wiring.opened(inventory, ask_password=ask_password, quiet=quiet)
    from gpustack.ask.gather import gather
    from gpustack.doctor.diagnose import questions

    return gather(hosts, questions(), report=report)
