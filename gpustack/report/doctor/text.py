"""A diagnosis for people: what is wrong first, how sure that is, what it rests on, its impact and its fix."""

from collections.abc import Sequence

from rich.text import Text

from gpustack.ask.judge import Judgement
from gpustack.ask.snapshot import Snapshot
from gpustack.command import Command, Prose
from gpustack.doctor.finding import Diagnosis, Drift, Finding, Unexplained
from gpustack.doctor.graph import graph
from gpustack.doctor.peers import peers
from gpustack.doctor.recent_changes import changed
from gpustack.events import count
from gpustack.remedy.commands import commands as to_type
from gpustack.report.doctor.format import (
    AUTO,
    SHOWN,
    because,
    by_text,
    calm,
    earlier,
    first,
    heading,
    identified,
    missing,
    next_command,
    refusals,
    summed,
    titles,
    tree,
    well,
)
from gpustack.report.evidence import commands
from gpustack.report.findings import field, say, typed, verbatim, witness, wrapped
from gpustack.report.format import cut, places
from gpustack.report.terminal import Terminal

INDENT = 14
"""Of what a finding broke and what it is not; all with -v."""


def diagnosis(console: Terminal, found: Diagnosis, *, verbose: bool = False) -> None:
    console.hide(found.snapshot.inventory)
    say(console, heading(found))
    if found.healthy and not found.verdict.notes:
        say(console, calm(found), "green")
        say(console, "healthy", "green")
        return
    for root in found.roots:
        finding(console, root, found, verbose=verbose)
    for one in found.unexplained:
        unexplained(console, one, verbose=verbose)
    for note in found.verdict.notes:
        head(console, "INFO", note.id, (note.where,), "harmless", "dim")
        paragraph(console, graph()[note.id].title)
        rests(console, (note,), verbose=verbose)
    differing(console, found.drift)
    closing(console, found, verbose=verbose)


def finding(console: Terminal, found: Finding, of: Diagnosis, *, verbose: bool) -> None:
    fault = graph().faults[found.id]
    head(console, "ROOT CAUSE", found.id, found.locations, found.certainty, "bold red")
    paragraph(console, fault.title, "bold")
    paragraph(console, fault.cause)
    for other in {one.id: one for one in found.correlated}.values():
        paragraph(console, f"correlated: {other.id} ({graph()[other.id].title}): {found.correlation}")
    if found.hidden_checks:
        paragraph(console, f"{count(found.hidden_checks, 'check')} need this host; they could hide another cause.")
    rests(console, found.judged, verbose=verbose)
    listed(console, "changed", earlier(changed(found, of.snapshot), console.clean), verbose=verbose)
    listed(console, "healthy on", well(peers(found, of.judged), console.clean), verbose=verbose)
    ruled_out(console, found.ruled_out, verbose=verbose)
    broke(console, found, verbose=verbose)
    if found.uncertain:
        names = list(dict.fromkeys(one.id for one in found.uncertain))
        why = because(found.uncertain, console.clean)
        part(console, "possible", f"{first(names, SHOWN)} (unknown: {why})", "yellow")
    remedy(console, found, of.snapshot)
    part(console, "more", Command("gpustack", "explain", found.id), "cyan")


def remedy(console: Terminal, found: Finding, snapshot: Snapshot) -> None:
    fault = graph().faults[found.id]
    part(console, "fix", f"{fault.fix.do} ({AUTO[fault.auto]}: {fault.why})")
    todo = to_type(found, snapshot)
    for line in todo.all:
        typed(console, line, INDENT)
    for why in todo.manual:
        part(console, "manual", why, "yellow")


def rests(console: Terminal, judged: Sequence[Judgement], *, verbose: bool) -> None:
    """What was found, each once with its places; then the commands that show it."""
    texts = by_text(judged, console.clean)
    for text, some in texts.items():
        where = f"{places([one.where for one in some])}: " if len(texts) > 1 else ""
        part(console, "evidence", f"{where}{text}")
        if verbose:
            for entry in some[0].evidence:
                witness(console, entry)
            continue
        lines = commands(some[0], console.clean)
        more = [f"(+{len(lines) - SHOWN}, -v)"] if len(lines) > SHOWN else []
        verbatim(console, "\n".join([*lines[:SHOWN], *more]), INDENT, "dim")


def ruled_out(console: Terminal, judged: Sequence[Judgement], *, verbose: bool) -> None:
    if judged:
        texts = refusals(judged)
        part(console, "ruled out", first(texts, len(texts) if verbose else SHOWN))


def listed(console: Terminal, name: str, texts: Sequence[str], *, verbose: bool) -> None:
    if texts:
        part(console, name, first(texts, len(texts) if verbose else SHOWN, "" if verbose else ", -v", "; "))


def broke(console: Terminal, found: Finding, *, verbose: bool) -> None:
    if not found.impact:
        return
    if verbose and found.chain:
        part(console, "impact", "")
        verbatim(console, "\n".join(cut(line, console.width - 4) for line in tree(found.chain)), 4, "")
    else:
        part(console, "impact", first(titles(found.impact), SHOWN, ", -v"))
    if found.caused:
        names = list(dict.fromkeys(one.id for one in found.caused))
        part(console, "", f"probably caused by it: {first(names, SHOWN)}")


def unexplained(console: Terminal, found: Unexplained, *, verbose: bool) -> None:
    head(console, "UNEXPLAINED", found.id, found.locations, "no confirmed cause", "bold yellow")
    paragraph(console, graph()[found.id].title)
    rests(console, found.judged, verbose=verbose)
    ruled_out(console, found.ruled_out, verbose=verbose)
    if found.impact:
        part(console, "impact", first(titles(found.impact), SHOWN))
    if found.suspects:
        names = list(dict.fromkeys(one.id for one in found.suspects))
        part(console, "possible", f"{first(names, SHOWN)} (unknown: {because(found.suspects, console.clean)})")
    part(console, "next check", found.ask, "cyan")


def differing(console: Terminal, drift: Sequence[Drift]) -> None:
    if drift:
        say(console, "\nDRIFT  (no known fault)", "bold")
    for one in drift:
        paragraph(console, f"{one.step}/{one.check}: {one.result!s} ({places(one.locations)})")


def closing(console: Terminal, found: Diagnosis, *, verbose: bool) -> None:
    console.print()
    if lines := missing(found.unknown, console.clean):
        more = "" if verbose else "; -v lists them"
        say(console, f"{count(len(found.unknown), 'check')} unknown: {first(lines, 3)}{more}", "yellow")
        if verbose:
            verbatim(console, "\n".join(identified(found.unknown)), 2, "")
    say(console, summed(found), "bold")
    _, then = next_command(found)
    if then:
        typed(console, Prose("after the fix: {}" if found.roots else "next: {}", then), 0)


def head(console: Terminal, kind: str, id: str, locations: Sequence[str], how: str, style: str) -> None:
    console.print()
    line = Text.assemble((kind, style), "  ", (console.clean(id), "bold"), f"  on {places(locations)}  ({how})")
    console.print(line, soft_wrap=True)


def paragraph(console: Terminal, text: str, style: str = "") -> None:
    for line in wrapped(console.clean(text), max(console.width - 2, 40)):
        console.print(Text(f"  {line}", style), soft_wrap=True)


def part(console: Terminal, name: str, text: str, style: str = "") -> None:
    field(console, f"  {name}", text, INDENT, style)
