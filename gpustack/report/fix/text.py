"""A fix for people: what would be done, what came of it, and how to undo it. report/fix/json.py has it for programs."""

from collections.abc import Sequence

from gpustack.config.inventory import Inventory
from gpustack.events import count
from gpustack.remedy.fixed import Attempt, Ending, Fixed
from gpustack.remedy.offer import Offer
from gpustack.remedy.undo import Last, Undone
from gpustack.report.doctor.format import AUTO
from gpustack.report.doctor.text import INDENT, diagnosis, head, part
from gpustack.report.findings import say, typed
from gpustack.report.format import duration, places
from gpustack.report.human import failures
from gpustack.report.terminal import Terminal
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


def offer(console: Terminal, one: Offer, differences: Sequence[str], inventory: Inventory) -> None:
    """Before the question."""
    console.hide(inventory)
    head(console, "FIX", one.id, one.finding.locations, f"{AUTO[one.fault.auto]}: {one.fault.why}", "bold cyan")
    part(console, "do", one.fault.fix.do)
    part(console, "playbook", f"playbooks/{one.play}.yml on {places(one.hosts)}")
    part(console, "commands", "equivalent to the playbook:")
    typed(console, "\n".join(one.commands), INDENT)
    part(console, "interrupts", one.interrupts or "nothing")
    part(console, "files", "" if differences else "none that check mode can show")
    typed(console, "\n".join(differences), 4, "")


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
    if any(one.ending in ("fixed", "interrupted") and one.tried for one in done.attempts):
        typed(console, f"to undo: {command('doctor --undo', inventory)}", 0)
    if done.tried and evidence:
        say(console, f"evidence: {evidence}")


def attempt(console: Terminal, one: Attempt) -> None:
    words, style = ENDINGS[one.ending]
    took = f" after {duration(one.seconds)}" if one.seconds else ""
    say(console, f"{one.offer.id} on {places(one.offer.finding.locations)}: {words.format(took)}", style)
    if one.why:
        say(console, f"  {one.why}")
    if one.played:
        failures(console, one.played)
    for kept in one.kept:
        lines = [f"/{path}" for path in kept.files] + [f"unit {text}" for text in kept.units]
        lines += [f"{text}" for text in kept.keys]
        typed(console, "\n".join(f"{kept.host}: {line}" for line in lines), 2, "dim")
    typed(console, "\n".join(one.undone), 2, "dim")
    if one.remaining:
        say(console, f"  remaining symptoms: {', '.join(one.remaining)}", "yellow")


def last_fix(console: Terminal, found: Last, inventory: Inventory) -> None:
    """What an undo would restore."""
    console.hide(inventory)
    head(console, "LAST FIX", found.fault, found.hosts, when(found.id), "bold cyan")
    for kept in found.kept:
        if kept.unfinished:
            say(console, f"  {kept.host}: interrupted; all that differs from before counts as its change", "yellow")
        lines = [f"/{path}" for path in kept.files] + [f"unit {text}" for text in kept.units] + list(kept.keys)
        typed(console, "\n".join(f"{kept.host}: {line}" for line in lines), 2, "")
    typed(console, "\n".join(str(one) for one in found.objects), 2, "")


def when(id: str) -> str:
    """Of an id as the fix made it: `2026-11-22 06:30 UTC`."""
    return f"{id[:4]}-{id[4:6]}-{id[6:8]} {id[9:11]}:{id[11:13]} UTC"


def undone(console: Terminal, done: Undone, inventory: Inventory, *, evidence: str) -> None:
    console.hide(inventory)
    typed(console, "\n".join(done.did), 2, "dim")
    parts = count(len(done.did), "change")
    say(console, f"\nfix of {done.last.fault} rolled back: {parts}, {duration(done.seconds)}", "green")
    say(console, f"evidence: {evidence}")
    typed(console, f"next: {command('doctor', inventory)}", 0)
