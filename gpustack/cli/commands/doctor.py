"""The command `gpustack doctor`, which finds the root cause of a fault. It is read-only without --fix and --undo."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.help import declare_command
from gpustack.cli.option_groups import LockSession
from gpustack.cli.root import DIAGNOSE, ROOT
from gpustack.cli.session import choose_hosts, split_words
from gpustack.command import Command, Hint
from gpustack.errors import UsageError
from gpustack.report.renderings import DIAGNOSIS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpustack.doctor.finding import Diagnosis, Selection
    from gpustack.remedy.fix_result import FixResult
    from gpustack.remedy.undo import Rollback


def complete_name(incomplete: str) -> list[str]:
    """List the ids of faults and states that complete the last of a comma-separated text, for shell completion."""
    from gpustack.doctor.selection import list_names

    return options.complete_last_part(incomplete, list_names())


MetricsOption = Annotated[
    Path | None,
    typer.Option(
        "--metrics",
        metavar="FILE",
        help="Write the findings as metrics to this file, for the textfile collector of node-exporter.",
    ),
]
WaitOption = Annotated[
    bool, typer.Option("--wait", help="Check again until no host is starting any more, for at most five minutes.")
]
WatchOption = Annotated[
    bool, typer.Option("--watch", help="Check repeatedly, and print only changes after the first report.")
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Exit with 1 also if there are only risks or notes, which harm nothing yet.")
]
EveryOption = Annotated[
    str, options.build_time_option("--every", "1s", "1d", text="Interval between two checks of --watch, 1s to 1d.")
]

NamesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="ID",
        help="Report only these faults and states, and what explains them (repeatable, or comma-separated).",
        autocompletion=complete_name,
    ),
]

STATIC_RECORDING = "A recording never changes."
PAST_RECORDING = "A recording is of hosts as they were; only hosts can be changed."
WATCH_REASON = "--watch is read-only."
STATUS_REASON = "It decides the exit status of a diagnosis."
SELECTION_REASON = "They select what is reported. For the fix of one root cause name it: gpustack doctor --fix ID."
METRICS_REASON = "Metrics of a part would say that there are no other findings."
FORMAT_REASON = "--fix and --undo support -o human and -o json only."


@dataclass
class DoctorSession(LockSession):
    yes: Annotated[
        bool,
        typer.Option(
            "-y", "--yes", help="Do not ask for confirmation of automatic fixes, of their rollback, or of --undo."
        ),
    ] = False


def complete_fault(incomplete: str) -> list[str]:
    """List the ids of faults that begin with a text, for shell completion."""
    from gpustack.doctor.graph import load_graph

    return [id for id in load_graph().faults if id.startswith(incomplete)]


@declare_command(
    ROOT,
    "gpustack doctor -i mycluster",
    "gpustack doctor -i mycluster --limit gpu1 --only gpu-fell-off-bus",
    "gpustack doctor -i mycluster --fix",
    "gpustack doctor --from snapshot.jsonl -o html > report.html",
    result=DIAGNOSIS,
    heading=DIAGNOSE,
    short="Find the root cause of a fault, and fix it.",
)
def doctor(
    fault: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="Fix only this root cause; requires --fix.", autocompletion=complete_fault),
    ] = None,
    *,
    limit: options.LimitOption = None,
    names: NamesOption = None,
    recording: options.FromOption = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Apply automatic fixes after confirmation, then check again.")
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
    undo: Annotated[bool, typer.Option("--undo", help="Roll back the last fix.")] = False,
    metrics: MetricsOption = None,
    wait: WaitOption = False,
    watch: WatchOption = False,
    interval: EveryOption = "1m",
    strict: StrictOption = False,
    verbose: options.VerboseOption = False,
    session: DoctorSession,
) -> "FixResult | Rollback | None":
    """Find the root cause of a fault, with its evidence, its impact and how to fix it.

    The command is read-only without --fix and --undo.
    """
    refuse_invalid_options(session, fault, recording, yes_to, fix=fix, undo=undo, watch=watch, wait=wait, strict=strict)
    refuse_part(metrics, fix or undo, limit or names)
    if metrics:
        from gpustack.report.doctor.metrics import require_writable

        require_writable(metrics)
    if fix or undo:
        hosts = session.open_for_change()
        from gpustack.cli.fix import run_fix, run_undo

        if undo:
            return run_undo(session, hosts)
        return run_fix(session, hosts, split_words(None if fault is None else [fault]), split_words(yes_to))
    selection = choose_findings(limit, names)
    read = make_reader(session, recording, selection, wait=wait)
    from gpustack.cli.doctor_watch import Watcher, make_check, run_rounds

    check = make_check(read, Watcher(session.output, verbose=verbose), metrics, selection, strict=strict)
    raise typer.Exit(run_rounds(options.parse_duration(interval), check) if watch else check())


def refuse_invalid_options(
    session: DoctorSession,
    fault: str | None,
    recording: Path | None,
    yes_to: list[str] | None,
    *,
    fix: bool,
    undo: bool,
    watch: bool,
    wait: bool,
    strict: bool,
) -> None:
    """Raise UsageError for options that exclude each other, or that require another option."""
    changes, read_only = fix or undo, "Without --fix or --undo, doctor is read-only."
    requires = "requires --fix or --undo."
    help_command = Command("gpustack", "doctor", "--help")
    watch_command, fix_command = Command("gpustack", "doctor", "--watch"), Command("gpustack", "doctor", "--fix")
    refusals: tuple[tuple[object, str, str, str, Hint], ...] = (
        (
            recording and watch,
            "watch-of-recording",
            "--watch and --from are mutually exclusive.",
            STATIC_RECORDING,
            watch_command,
        ),
        (
            watch and changes,
            "invalid-options",
            "--watch is mutually exclusive with --fix and --undo.",
            WATCH_REASON,
            help_command,
        ),
        (
            recording and wait,
            "invalid-options",
            "--wait and --from are mutually exclusive.",
            STATIC_RECORDING,
            help_command,
        ),
        (
            recording and changes,
            "fix-of-recording",
            "--from is mutually exclusive with --fix and --undo.",
            PAST_RECORDING,
            fix_command,
        ),
        (
            changes and strict,
            "invalid-options",
            "--strict is mutually exclusive with --fix and --undo.",
            STATUS_REASON,
            help_command,
        ),
        (fix and undo, "invalid-options", "--fix and --undo are mutually exclusive.", "", help_command),
        (
            (fault or yes_to) and not fix,
            "invalid-options",
            "ID and --yes-to require --fix.",
            read_only,
            fix_command.extend(*([fault] if fault else [])),
        ),
        (changes and session.output not in ("human", "json"), "invalid-options", FORMAT_REASON, "", help_command),
        (
            session.yes and not changes,
            "invalid-options",
            f"--yes {requires}",
            read_only,
            Command("gpustack", "doctor", "--fix", "--yes"),
        ),
        (session.this_host and not changes, "invalid-options", f"--this-host {requires}", read_only, help_command),
    )
    for applies, reference, message, reason, hint in refusals:
        if applies:
            raise UsageError(reference, message, reason, hint)


def refuse_part(metrics: Path | None, changes: object, part: object) -> None:
    """Raise UsageError where only a part is reported, and all of it is needed."""
    if part and (changes or metrics):
        option, reason = ("--fix and --undo", SELECTION_REASON) if changes else ("--metrics", METRICS_REASON)
        message = f"--limit and --only are mutually exclusive with {option}."
        raise UsageError("invalid-options", message, reason, Command("gpustack", "doctor", "--help"))


def choose_findings(limit: list[str] | None, names: list[str] | None) -> "Selection":
    """Choose what --limit and --only name. Raise UsageError for an unknown fault."""
    from gpustack.config.complaint import suggest_nearest
    from gpustack.doctor.finding import Selection
    from gpustack.doctor.selection import list_names

    chosen_names, known_names = split_words(names), list_names()
    if unknown_names := [name for name in chosen_names if name not in known_names]:
        reason = suggest_nearest(unknown_names, known_names)
        message = f"There is no fault or state {', '.join(unknown_names)}."
        raise UsageError("unknown-finding", message, reason, Command("gpustack", "explain"))
    return Selection(tuple(split_words(limit)), tuple(chosen_names))


def make_reader(
    session: DoctorSession, recording: Path | None, selection: "Selection", *, wait: bool
) -> "Callable[[], Diagnosis]":
    """Return a function that diagnoses the hosts, with `wait` once no host is starting, or the recording. It raises no
    error for hosts that are unreachable, because doctor reports them. Raise UsageError where a selected host does not
    exist."""
    if recording:
        snapshot = session.load_recording(recording)
        choose_hosts(snapshot.inventory, selection.hosts)
        from gpustack.doctor.diagnose import diagnose

        return lambda: diagnose(snapshot)
    hosts = session.open_inventory()
    choose_hosts(hosts, selection.hosts)
    from gpustack.cli.rounds import diagnose_hosts

    def read() -> "Diagnosis":
        return diagnose_hosts(hosts, session.report)

    if not wait:
        return read
    from gpustack.cli.doctor_wait import diagnose_when_started

    return lambda: diagnose_when_started(read, session.report)
