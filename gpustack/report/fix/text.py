"""A fix for people: what would be done, what came of it, and how to undo it. report/fix/json.py has it for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpustack.command import Prose
from gpustack.config.inventory import Inventory
from gpustack.events import count
from gpustack.remedy.fixed import Attempt, Ending, Fixed
from gpustack.remedy.offer import Offer
from gpustack.remedy.records import HostRecord
from gpustack.remedy.scope import Scope
from gpustack.remedy.undo import LastFix, Remainder, Rollback, describe_left
from gpustack.report.doctor.format import AUTO
from gpustack.report.doctor.text import INDENT, diagnosis, head, part
from gpustack.report.findings import say, typed, verbatim
from gpustack.report.format import duration, places
from gpustack.report.human import failures
from gpustack.report.terminal import Terminal
from gpustack.rollout.next import build_command

ENDINGS: dict[Ending, tuple[str, str]] = {
    "fixed": ("fixed{}", "green"),
    "recovered": ("resolved by itself; nothing was changed", "green"),
    "not-resolved": ("not resolved{}", "bold red"),
    "interrupted": ("interrupted{}", "yellow"),
    "declined": ("declined; nothing was changed", "yellow"),
    "manual": ("no automatic fix", "yellow"),
}
"""Each with room for how long it took."""
NAMED = 6
"""So many things are named in the question."""


def offer(console: Terminal, one: Offer, differences: Sequence[str], inventory: Inventory) -> None:
    """Before the question."""
    console.hide(inventory)
    head(console, "FIX", one.id, one.finding.locations, f"{AUTO[one.fault.auto]}: {one.fault.why}", "bold cyan")
    part(console, "do", one.fault.fix.do)
    part(console, "playbook", f"playbooks/{one.play}.yml on {places(one.hosts)}")
    part(console, "commands", "equivalent to the playbook:")
    for command in one.commands:
        typed(console, command, INDENT)
    part(console, "interrupts", one.interrupts or "nothing")
    part(console, "files", "" if differences else "none that check mode can show")
    verbatim(console, "\n".join(differences), 4, "")
    part(console, "rollback", "; ".join(describe_scopes(list(one.scopes.values()))))


def describe_scopes(scopes: Sequence[Scope]) -> Iterator[str]:
    """Describe what a roll-back can restore, and what it cannot."""
    names = sorted({thing.name for scope in scopes for thing in scope.things})
    things = names if len(names) <= NAMED else [*names[:NAMED], f"{len(names) - NAMED} more"]
    targets = sum(len(scope.targets) for scope in scopes)
    releases = [f"the objects of release {'/'.join(scope.release)}" for scope in scopes if scope.release]
    restored = [
        *things,
        *([count(targets, "object")] if targets else []),
        *releases,
    ]
    yield f"if it does not help, and only what nobody else changed: {', '.join(restored) or 'nothing'}"
    if beyond := list(dict.fromkeys(text for scope in scopes for text in scope.beyond)):
        yield f"not: {', '.join(beyond)}"


def fixed(console: Terminal, done: Fixed, *, evidence: str, verbose: bool = False) -> None:
    console.hide(done.after.snapshot.inventory)
    inventory = done.after.snapshot.inventory
    console.print()
    for one in done.attempts:
        attempt(console, one)
    if done.stopped:
        say(console, f"\nstopped: {done.stopped}", "red")
    if done.tried:
        console.print()
        diagnosis(console, done.after, verbose=verbose)
    if any(one.stays for one in done.attempts):
        typed(console, Prose("to undo: {}", build_command(inventory, "doctor", "--undo")), 0)
    if done.tried and evidence:
        say(console, f"evidence: {evidence}")


def attempt(console: Terminal, one: Attempt) -> None:
    words, style = ENDINGS[one.ending]
    took = f" after {duration(one.seconds)}" if one.seconds else ""
    outcome = f"{words.format(took)}{describe_rollback(one) if one.ending == 'not-resolved' else ''}"
    say(console, f"{one.offer.id} on {places(one.offer.finding.locations)}: {outcome}", style)
    if one.why:
        say(console, f"  {one.why}")
    if one.played:
        failures(console, one.played)
    for record in one.records:
        verbatim(console, "\n".join(list_changes(record)), 2, "dim")
    verbatim(console, "\n".join(one.undone), 2, "dim")
    print_left(console, one.left)
    if one.remaining:
        say(console, f"  remaining symptoms: {', '.join(one.remaining)}", "yellow")


def describe_rollback(one: Attempt) -> str:
    if one.rollback is None:
        return "; not rolled back"
    return "; changes rolled back in part" if one.left else "; changes rolled back"


def list_changes(record: HostRecord) -> list[str]:
    lines = [*record.files, *(f"unit {text}" for text in record.units), *record.keys]
    return [f"{record.host}: {line}" for line in lines]


def print_left(console: Terminal, left: Sequence[Remainder]) -> None:
    """Print what stays, each with the command that shows the difference."""
    for one in left:
        say(console, f"  {one.text}", "yellow")
        typed(console, one.comparison, 4)


def last_fix(console: Terminal, fix: LastFix, inventory: Inventory) -> None:
    """Print what an undo would restore, and what it would leave."""
    console.hide(inventory)
    head(console, "LAST FIX", fix.fault, fix.hosts, when(fix.id), "bold cyan")
    for record in fix.records:
        if not record.finished:
            say(console, f"  {record.host}: interrupted; only what is as gpustack writes it is restored", "yellow")
        restored = replace(record, changes=tuple(one for one in record.changes if one.is_restorable))
        verbatim(console, "\n".join(list_changes(restored)), 2, "")
    verbatim(console, "\n".join(str(one) for one in fix.objects if one.is_restorable), 2, "")
    print_left(console, [describe_left(one, fix.id) for one in fix.left])


def when(id: str) -> str:
    """Of an id as the fix made it: `2026-11-22 06:30 UTC`."""
    return f"{id[:4]}-{id[4:6]}-{id[6:8]} {id[9:11]}:{id[11:13]} UTC"


def undone(console: Terminal, done: Rollback, inventory: Inventory, *, evidence: str) -> None:
    console.hide(inventory)
    verbatim(console, "\n".join(done.did), 2, "dim")
    print_left(console, done.left)
    parts = count(len(done.did), "change")
    stays = f", {len(done.left)} left" if done.left else ""
    say(console, f"\nfix of {done.fix.fault} rolled back: {parts}{stays}, {duration(done.seconds)}", "green")
    say(console, f"evidence: {evidence}")
    typed(console, Prose("next: {}", build_command(inventory, "doctor")), 0)
