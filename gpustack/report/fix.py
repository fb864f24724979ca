"""A fix for people: what would be done, what came of it, and the way back. report/fix_json.py has it for programs."""

from collections.abc import Sequence

from rich.console import Console

from gpustack.config.inventory import Inventory
from gpustack.events import count
from gpustack.remedy.fixed import Attempt, Ending, Fixed
from gpustack.remedy.offer import Offer
from gpustack.remedy.undo import Last, Undone
from gpustack.report.doctor import INDENT, diagnosis, head, part
from gpustack.report.findings import say, typed
from gpustack.report.human import failures
from gpustack.report.words import Clean, cleaner, command, duration, places

ENDINGS: dict[Ending, tuple[str, str]] = {
    "fixed": ("fixed", "green"),
    "recovered": ("it is gone by itself; nothing was done", "green"),
    "not-turned": ("it did not turn; what was changed is as it was", "bold red"),
    "interrupted": ("interrupted", "yellow"),
    "declined": ("not agreed to; nothing was done", "yellow"),
    "not-for-a-machine": ("nothing that a machine may do", "yellow"),
}


def offer(console: Console, one: Offer, differences: Sequence[str], inventory: Inventory) -> None:
    """Before the question."""
    clean = cleaner(inventory)
    head(console, "REMEDY", one.id, one.finding.wheres, f"{one.fault.auto}: {one.fault.why}", "bold cyan")
    part(console, "do", one.fault.fix.do)
    part(console, "plays", f"playbooks/{one.play}.yml on {places(one.hosts)}")
    part(console, "as by hand", "")
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
        typed(console, f"the way back: {clean(command('doctor --undo', inventory))}", 0)
    if done.tried and evidence:
        say(console, f"evidence: {evidence}")


def attempt(console: Console, one: Attempt, clean: Clean) -> None:
    words, style = ENDINGS[one.ending]
    took = f" in {duration(one.seconds)}" if one.seconds else ""
    say(console, f"{one.offer.id} on {places(one.offer.finding.wheres)}: {words}{took}", style)
    if one.why:
        say(console, f"  {clean(one.why)}")
    if one.played:
        failures(console, one.played, clean)
    for kept in one.kept:
        lines = [f"/{path}" for path in kept.files] + [f"unit {text}" for text in kept.units]
        lines += [f"{text}" for text in kept.keys]
        typed(console, "\n".join(clean(f"{kept.host}: {line}") for line in lines), 2, "dim")
    typed(console, "\n".join(clean(line) for line in one.undone), 2, "dim")
    if one.lingers:
        say(console, f"  still shows: {', '.join(one.lingers)}", "yellow")


def last_fix(console: Console, found: Last, inventory: Inventory) -> None:
    """What an undo would put back."""
    clean = cleaner(inventory)
    head(console, "LAST FIX", found.fault, found.hosts, when(found.id), "bold cyan")
    for kept in found.kept:
        if kept.unfinished:
            say(
                console, f"  {kept.host}: it was broken off; all that differs from before counts as its doing", "yellow"
            )
        lines = [f"/{path}" for path in kept.files] + [f"unit {text}" for text in kept.units] + list(kept.keys)
        typed(console, "\n".join(clean(f"{kept.host}: {line}") for line in lines), 2, "")
    typed(console, "\n".join(clean(str(one)) for one in found.objects), 2, "")


def when(id: str) -> str:
    """Of an id as the fix made it: `2026-11-22 06:30 UTC`."""
    return f"{id[:4]}-{id[4:6]}-{id[6:8]} {id[9:11]}:{id[11:13]} UTC"


def undone(console: Console, done: Undone, inventory: Inventory, *, evidence: str) -> None:
    clean = cleaner(inventory)
    typed(console, "\n".join(clean(line) for line in done.did), 2, "dim")
    parts = count(len(done.did), "thing")
    say(console, f"\nthe fix of {done.last.fault} is taken back: {parts}, {duration(done.seconds)}", "green")
    say(console, f"evidence: {evidence}")
    typed(console, f"next: {clean(command('doctor', inventory))}", 0)
