"""A fix for people: what would be done, what came of it, and how to undo it. report/fix/json.py has it for programs."""

from collections.abc import Sequence

from rich.console import Console

from gpustack.config.inventory import Inventory
from gpustack.events import count
from gpustack.remedy.fixed import Attempt, Ending, Fixed
from gpustack.remedy.offer import Offer
from gpustack.remedy.undo import Last, Undone
from gpustack.report.doctor.format import AUTO
from gpustack.report.doctor.text import INDENT, diagnosis, head, part
from gpustack.report.findings import say, typed
from gpustack.report.format import Clean, cleaner, duration, places
from gpustack.report.human import failures
from gpustack.rollout.next import command

ENDINGS: dict[Ending, tuple[str, str]] = {
    "fixed": ("fixed{}", "green"),
    "recovered": ("resolved by itself; nothing was changed", "green"),
    "not-resolved": ("not resolved{}; changes rolled back", "bold red"),
    "interrupted": ("interrupted{}", "yellow"),
    "declined": ("declined; nothing was changed", "yellow"),
    "manual": ("no automatic fix", "yellow"),
}
"""Each with room for how long it took."""


def offer(console: Console, one: Offer, differences: Sequence[str], inventory: Inventory) -> None:
    """Before the question."""
    clean = cleaner(inventory)
    head(console, "FIX", one.id, one.finding.wheres, f"{AUTO[one.fault.auto]}: {one.fault.why}", "bold cyan")
    part(console, "do", one.fault.fix.do)
    part(console, "playbook", f"playbooks/{one.play}.yml on {places(one.hosts)}")
    part(console, "commands", "equivalent to the playbook:")
    typed(console, "\n".join(clean(line) for line in one.commands), INDENT)
    part(console, "interrupts", one.interrupts or "nothing")
    part(console, "files", "" if differences else "none that check mode can show")
    typed(console, "\n".join(clean(line) for line in differences), 4, "")


def fixed(console: Console, done: Fixed, *, evidence: str, verbose: bool = False) -> None:
    clean, inventory = cleaner(done.after.snapshot.inventory), done.after.snapshot.inventory
    console.print()
    for one in done.attempts:
        attempt(console, one, clean)
    if done.stopped:
        say(console, f"\nstopped: {clean(done.stopped)}", "red")
    if done.tried:
        console.print()
        diagnosis(console, done.after, verbose=verbose)
    if any(one.ending in ("fixed", "interrupted") and one.tried for one in done.attempts):
        typed(console, f"to undo: {clean(command('doctor --undo', inventory))}", 0)
    if done.tried and evidence:
        say(console, f"evidence: {evidence}")


def attempt(console: Console, one: Attempt, clean: Clean) -> None:
    words, style = ENDINGS[one.ending]
    took = f" after {duration(one.seconds)}" if one.seconds else ""
    say(console, f"{one.offer.id} on {places(one.offer.finding.wheres)}: {words.format(took)}", style)
    if one.why:
        say(console, f"  {clean(one.why)}")
    if one.played:
        failures(console, one.played, clean)
    for kept in one.kept:
        lines = [f"/{path}" for path in kept.files] + [f"unit {text}" for text in kept.units]
        lines += [f"{text}" for text in kept.keys]
        typed(console, "\n".join(clean(f"{kept.host}: {line}") for line in lines), 2, "dim")
    typed(console, "\n".join(clean(line) for line in one.undone), 2, "dim")
    if one.remaining:
        say(console, f"  remaining symptoms: {', '.join(one.remaining)}", "yellow")


def last_fix(console: Console, found: Last, inventory: Inventory) -> None:
    """What an undo would restore."""
    clean = cleaner(inventory)
    head(console, "LAST FIX", found.fault, found.hosts, when(found.id), "bold cyan")
    for kept in found.kept:
        if kept.unfinished:
            say(console, f"  {kept.host}: interrupted; all that differs from before counts as its change", "yellow")
        lines = [f"/{path}" for path in kept.files] + [f"unit {text}" for text in kept.units] + list(kept.keys)
        typed(console, "\n".join(clean(f"{kept.host}: {line}") for line in lines), 2, "")
    typed(console, "\n".join(clean(str(one)) for one in found.objects), 2, "")


def when(id: str) -> str:
    """Of an id as the fix made it: `2026-11-22 06:30 UTC`."""
    return f"{id[:4]}-{id[4:6]}-{id[6:8]} {id[9:11]}:{id[11:13]} UTC"


def undone(console: Console, done: Undone, inventory: Inventory, *, evidence: str) -> None:
    clean = cleaner(inventory)
    typed(console, "\n".join(clean(line) for line in done.did), 2, "dim")
    parts = count(len(done.did), "change")
    say(console, f"\nfix of {done.last.fault} rolled back: {parts}, {duration(done.seconds)}", "green")
    say(console, f"evidence: {evidence}")
    typed(console, f"next: {clean(command('doctor', inventory))}", 0)
