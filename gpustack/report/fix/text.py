"""A fix for people: what it would do, its result, and how to undo it. report/fix/json.py has it for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpustack.command import Prose
from gpustack.config.inventory import Inventory
from gpustack.events import format_count
from gpustack.remedy.fix_result import Attempt, Ending, FixResult
from gpustack.remedy.offer import Offer
from gpustack.remedy.records import HostRecord
from gpustack.remedy.scope import Scope
from gpustack.remedy.undo import LastFix, Remainder, Rollback, describe_remainder
from gpustack.report.doctor.format import format_remediation
from gpustack.report.doctor.text import INDENT, print_detail, print_heading, render_human
from gpustack.report.findings import print_command, print_text, print_unwrapped
from gpustack.report.format import format_locations
from gpustack.report.human import print_failures
from gpustack.report.terminal import Terminal
from gpustack.rollout.next_command import build_command
from gpustack.times import format_duration

ENDINGS: dict[Ending, tuple[str, str]] = {
    "fixed": ("fixed{}", "green"),
    "recovered": ("resolved by itself; nothing was changed", "green"),
    "not-resolved": ("not resolved{}", "bold red"),
    "interrupted": ("interrupted{}", "yellow"),
    "declined": ("declined; nothing was changed", "yellow"),
    "manual": ("no automatic fix", "yellow"),
}
"""The braces stand for the duration; the second text is a style of rich."""
MAX_NAMES = 6
"""The question names so many things at most."""


def render_offer(console: Terminal, offer: Offer, differences: Sequence[str], inventory: Inventory) -> None:
    """Print what a fix would do, before the question whether to do it."""
    console.hide_secrets(inventory)
    print_heading(
        console,
        "FIX",
        offer.id,
        offer.finding.locations,
        f"{format_remediation(offer.remediation)}: {offer.reason}",
        "bold cyan",
    )
    print_detail(console, "do", offer.fault.fix.do)
    print_detail(console, "playbook", f"playbooks/{offer.play}.yml on {format_locations(offer.hosts)}")
    print_detail(console, "commands", "equivalent to the playbook:")
    for command in offer.commands:
        print_command(console, command, INDENT)
    print_detail(console, "interrupts", offer.interrupts or "nothing")
    print_detail(console, "files", "" if differences else "none that check mode can show")
    print_unwrapped(console, "\n".join(differences), 4, "")
    print_detail(console, "rollback", "; ".join(describe_scopes(list(offer.scopes.values()))))


def describe_scopes(scopes: Sequence[Scope]) -> Iterator[str]:
    """Describe what a roll-back can restore, and what it cannot."""
    names = sorted({target.name for scope in scopes for target in scope.resources})
    things = names if len(names) <= MAX_NAMES else [*names[:MAX_NAMES], f"{len(names) - MAX_NAMES} more"]
    targets = sum(len(scope.targets) for scope in scopes)
    releases = [f"the objects of release {'/'.join(scope.release)}" for scope in scopes if scope.release]
    restorable_names = [*things, *([format_count(targets, "object")] if targets else []), *releases]
    yield f"if it does not help, and only what nobody else changed: {', '.join(restorable_names) or 'nothing'}"
    if limits := list(dict.fromkeys(text for scope in scopes for text in scope.irreversible_changes)):
        yield f"not: {', '.join(limits)}"


def render_fix(console: Terminal, fix_result: FixResult, *, evidence: str = "", verbose: bool = False) -> None:
    console.hide_secrets(fix_result.after.snapshot.inventory)
    inventory = fix_result.after.snapshot.inventory
    console.print()
    for attempt in fix_result.attempts:
        print_attempt(console, attempt)
    if fix_result.stop_reason:
        print_text(console, f"\nstopped: {fix_result.stop_reason}", "red")
    if fix_result.tried_attempts:
        console.print()
        render_human(console, fix_result.after, verbose=verbose)
    if any(attempt.is_undoable for attempt in fix_result.attempts):
        print_command(console, Prose("to undo: {}", build_command(inventory, "doctor", "--undo")), 0)
    if fix_result.tried_attempts and evidence:
        print_text(console, f"evidence: {evidence}")


def print_attempt(console: Terminal, attempt: Attempt) -> None:
    words, style = ENDINGS[attempt.ending]
    duration_suffix = f" after {format_duration(attempt.seconds)}" if attempt.seconds else ""
    outcome = f"{words.format(duration_suffix)}{describe_rollback(attempt) if attempt.ending == 'not-resolved' else ''}"
    print_text(console, f"{attempt.offer.id} on {format_locations(attempt.offer.finding.locations)}: {outcome}", style)
    if attempt.reason:
        print_text(console, f"  {attempt.reason}")
    if attempt.play_result:
        print_failures(console, attempt.play_result)
    for record in attempt.records:
        print_unwrapped(console, "\n".join(list_changes(record)), 2, "dim")
    print_unwrapped(console, "\n".join(attempt.rollback_actions), 2, "dim")
    print_remainders(console, attempt.remainders)
    if attempt.remaining:
        print_text(console, f"  remaining symptoms: {', '.join(attempt.remaining)}", "yellow")


def describe_rollback(attempt: Attempt) -> str:
    if attempt.rollback is None:
        return "; not rolled back"
    return "; changes rolled back in part" if attempt.remainders else "; changes rolled back"


def list_changes(record: HostRecord) -> list[str]:
    lines = [*record.files, *(f"unit {text}" for text in record.units), *record.keys]
    return [f"{record.host}: {line}" for line in lines]


def print_remainders(console: Terminal, remainders: Sequence[Remainder]) -> None:
    """Print what stays, each with the command that shows the difference."""
    for remainder in remainders:
        print_text(console, f"  {remainder.text}", "yellow")
        print_command(console, remainder.comparison, 4)


def render_last_fix(console: Terminal, fix: LastFix, inventory: Inventory) -> None:
    """Print what an undo would restore, and what it would leave."""
    console.hide_secrets(inventory)
    print_heading(console, "LAST FIX", fix.fault, fix.hosts, format_time(fix.id), "bold cyan")
    for record in fix.records:
        if not record.finished:
            print_text(
                console, f"  {record.host}: interrupted; only what is as gpustack writes it is restored", "yellow"
            )
        restorable_record = replace(record, changes=tuple(change for change in record.changes if change.is_restorable))
        print_unwrapped(console, "\n".join(list_changes(restorable_record)), 2, "")
    print_unwrapped(console, "\n".join(str(change) for change in fix.objects if change.is_restorable), 2, "")
    print_remainders(console, [describe_remainder(change, fix.id) for change in fix.remaining_changes])


def format_time(id: str) -> str:
    """Format the time in the id of a fix: `2026-11-22 06:30 UTC`."""
    return f"{id[:4]}-{id[4:6]}-{id[6:8]} {id[9:11]}:{id[11:13]} UTC"


def render_rollback(console: Terminal, rollback: Rollback, inventory: Inventory, *, evidence: str) -> None:
    console.hide_secrets(inventory)
    print_unwrapped(console, "\n".join(rollback.actions), 2, "dim")
    print_remainders(console, rollback.remainders)
    parts = format_count(len(rollback.actions), "change")
    remaining_suffix = f", {len(rollback.remainders)} left" if rollback.remainders else ""
    print_text(
        console,
        f"\nfix of {rollback.fix.fault} rolled back: {parts}{remaining_suffix}, {format_duration(rollback.seconds)}",
        "green",
    )
    print_text(console, f"evidence: {evidence}")
    print_command(console, Prose("next: {}", build_command(inventory, "doctor")), 0)
