"""A diagnosis for people: each finding with its certainty, evidence, impact and fix."""

from collections.abc import Sequence

from rich.text import Text

from gpustack.ask.judge import Judgement
from gpustack.command import Command
from gpustack.doctor.finding import Diagnosis, Drift, Finding, UnexplainedSymptom
from gpustack.doctor.graph import load_graph
from gpustack.doctor.states.state import SEVERITIES, AbnormalState, Severity, select_states
from gpustack.events import format_count
from gpustack.report.doctor.first_action import find_first_action, name_hosts, suggest_next
from gpustack.report.doctor.format import (
    MAX_ENTRIES,
    describe_changes,
    describe_drift,
    describe_facts,
    describe_health,
    describe_healthy_hosts,
    describe_remediation,
    draw_tree,
    format_heading,
    format_summary,
    group_by_text,
    join_first,
    join_reasons,
    list_ids,
    list_reason_counts,
    list_refutations,
    list_titles,
)
from gpustack.report.doctor.states import build_explain_command, format_onset, format_subject, format_times
from gpustack.report.evidence import is_document, list_commands
from gpustack.report.findings import print_command, print_evidence, print_field, print_text, print_unwrapped, wrap_text
from gpustack.report.format import cut, format_locations
from gpustack.report.hanging import LEAST_WIDTH
from gpustack.report.terminal import Terminal

SEVERITY_STYLES: dict[Severity, str] = {"broken": "bold red", "risk": "bold yellow", "note": "dim"}
INDENT = 14
"""Texts of a finding begin behind the names of its parts."""


def render_human(console: Terminal, diagnosis: Diagnosis, *, verbose: bool = False) -> None:
    console.hide_secrets(diagnosis.snapshot.inventory)
    print_text(console, format_heading(diagnosis))
    for start in diagnosis.starts:
        print_text(console, f"{start.location} is starting: {start}", "yellow")
    if diagnosis.healthy and not diagnosis.has_warnings:
        print_text(console, describe_health(diagnosis), "green")
        if facts := describe_facts(diagnosis):
            print_text(console, facts, "green")
        return
    print_first_action(console, diagnosis)
    for severity in SEVERITIES:
        for root in diagnosis.select_roots(severity):
            print_root_cause(console, root, verbose=verbose)
        for state in select_states(diagnosis.abnormal_states, severity):
            print_state(console, state, diagnosis, verbose=verbose)
        for symptom in diagnosis.unexplained_symptoms if severity == "broken" else ():
            print_symptom(console, symptom, diagnosis, verbose=verbose)
        if severity == "broken":
            print_drift(console, diagnosis.drift)
    for note in diagnosis.verdict.notes:
        print_heading(console, "NOTE", note.id, (note.location,), "harmless", "dim")
        print_paragraph(console, load_graph()[note.id].title)
        print_judgements(console, (note,), verbose=verbose)
    print_summary(console, diagnosis, verbose=verbose)


def print_first_action(console: Terminal, diagnosis: Diagnosis) -> None:
    """Print the most important thing to do now. The command is never wrapped."""
    if action := find_first_action(diagnosis):
        print_field(console, "do first", action.title, INDENT, "bold")
        print_command(console, action.command, INDENT)


def print_root_cause(console: Terminal, finding: Finding, *, verbose: bool) -> None:
    fault, style = load_graph().faults[finding.id], SEVERITY_STYLES[finding.severity]
    label = "ROOT CAUSE" if finding.severity == "broken" else finding.severity.upper()
    print_heading(console, label, finding.id, finding.locations, finding.certainty, style)
    print_paragraph(console, fault.title, "bold")
    print_paragraph(console, fault.cause)
    for cause in {judgement.id: judgement for judgement in finding.correlated_causes}.values():
        print_paragraph(console, f"correlated: {cause.id} ({load_graph()[cause.id].title}): {finding.correlation}")
    if finding.hidden_checks:
        print_paragraph(
            console, f"{format_count(finding.hidden_checks, 'check')} need this host; they could hide another cause."
        )
    print_judgements(console, finding.judgements, verbose=verbose)
    print_list(console, "changed", describe_changes(finding.changes, console.clean), verbose=verbose)
    print_list(console, "healthy on", describe_healthy_hosts(finding.healthy_hosts, console.clean), verbose=verbose)
    print_ruled_out(console, finding.ruled_out, verbose=verbose)
    print_impact(console, finding, verbose=verbose)
    if finding.uncertain:
        names = list(dict.fromkeys(judgement.id for judgement in finding.uncertain))
        reason = join_reasons(finding.uncertain, console.clean)
        print_detail(console, "possible", f"{join_first(names, MAX_ENTRIES)} (unknown: {reason})", "yellow")
    print_fix(console, finding)
    print_detail(console, "more", Command("gpustack", "explain", finding.id), "cyan")


def print_fix(console: Terminal, finding: Finding) -> None:
    fault = load_graph().faults[finding.id]
    if not finding.starts and finding.has_remedy:
        print_detail(console, "fix", f"{fault.fix.do} ({describe_remediation(finding)})")
    for line in finding.commands.hints:
        print_command(console, line, INDENT)
    for reason in finding.commands.manual:
        print_detail(console, "starting" if finding.starts else "manual", reason, "yellow")


def print_judgements(console: Terminal, judgements: Sequence[Judgement], *, verbose: bool) -> None:
    """Print what was found, each text once with its locations, and then the commands that show it."""
    texts = group_by_text(judgements, console.clean)
    for text, group in texts.items():
        prefix = f"{format_locations([judgement.location for judgement in group])}: " if len(texts) > 1 else ""
        print_detail(console, "evidence", f"{prefix}{text}")
        if verbose:
            print_evidence(console, group[0].evidence)
            continue
        lines = list_commands(group[0], console.clean)
        remainder = [f"(+{len(lines) - MAX_ENTRIES}, -v)"] if len(lines) > MAX_ENTRIES else []
        print_unwrapped(console, "\n".join([*lines[:MAX_ENTRIES], *remainder]), INDENT, "dim")


def print_ruled_out(console: Terminal, judgements: Sequence[Judgement], *, verbose: bool) -> None:
    if judgements:
        texts = list_refutations(judgements)
        print_detail(console, "ruled out", join_first(texts, len(texts) if verbose else MAX_ENTRIES))


def print_list(console: Terminal, name: str, texts: Sequence[str], *, verbose: bool) -> None:
    if texts:
        print_detail(
            console, name, join_first(texts, len(texts) if verbose else MAX_ENTRIES, "" if verbose else ", -v", "; ")
        )


def print_impact(console: Terminal, finding: Finding, *, verbose: bool) -> None:
    if not finding.impact:
        return
    if verbose and finding.chain:
        print_detail(console, "impact", "")
        print_unwrapped(console, "\n".join(cut(line, console.width - 4) for line in draw_tree(finding.chain)), 4, "")
    else:
        print_detail(console, "impact", join_first(list_titles(finding.impact), MAX_ENTRIES, ", -v"))
    if finding.caused_faults:
        names = list(dict.fromkeys(judgement.id for judgement in finding.caused_faults))
        print_detail(console, "", f"probably caused by it: {join_first(names, MAX_ENTRIES)}")


def print_symptom(console: Terminal, symptom: UnexplainedSymptom, diagnosis: Diagnosis, *, verbose: bool) -> None:
    detail = "it may pass: starting" if symptom.starts else "no confirmed cause"
    print_heading(console, "UNEXPLAINED", symptom.id, symptom.locations, detail, "bold yellow")
    print_paragraph(console, load_graph()[symptom.id].title)
    print_judgements(console, symptom.judgements, verbose=verbose)
    print_ruled_out(console, symptom.ruled_out, verbose=verbose)
    if symptom.impact:
        print_detail(console, "impact", join_first(list_titles(symptom.impact), MAX_ENTRIES))
    if symptom.suspects:
        names = list(dict.fromkeys(suspect.id for suspect in symptom.suspects))
        print_detail(
            console,
            "possible",
            f"{join_first(names, MAX_ENTRIES)} (unknown: {join_reasons(symptom.suspects, console.clean)})",
        )
    print_list(console, "differs", describe_drift(diagnosis, symptom.locations), verbose=verbose)
    print_detail(console, "next check", name_hosts(symptom.next_command, symptom.locations))
    print_command(console, symptom.next_command, INDENT)


def print_state(console: Terminal, state: AbnormalState, diagnosis: Diagnosis, *, verbose: bool) -> None:
    """Print an abnormal state: the objects, what the program says of them, since when, and what to type next."""
    subject = format_subject(state)
    print_heading(
        console, state.severity.upper(), subject, state.locations, state.kind, SEVERITY_STYLES[state.severity]
    )
    print_paragraph(console, state.message)
    if state.last_lines:
        print_detail(console, "last lines", "")
        print_unwrapped(console, "\n".join(state.last_lines), INDENT)
    print_list(console, "objects", state.subjects if len(state.subjects) > 1 else (), verbose=verbose)
    if onset := format_onset(state, diagnosis.snapshot.started_at):
        print_detail(console, "since", onset)
    # What was changed before a note, which harms nothing, is long beside it.
    if verbose or state.severity != "note":
        print_list(console, "before it", describe_changes(state.changes, console.clean), verbose=verbose)
    if state.severity == "broken":
        print_list(console, "differs", describe_drift(diagnosis, state.locations), verbose=verbose)
    if times := format_times(state):
        print_detail(console, "restarts" if state.kind.startswith("container") else "seen", times)
    # A list of the API has every object of its namespace, and the state says what matters of it.
    if verbose:
        print_evidence(console, [entry for entry in state.evidence if not is_document(entry)])
    print_detail(console, "next", name_hosts(state.next_command, state.locations))
    print_command(console, state.next_command, INDENT)
    print_detail(console, "more", build_explain_command(state), "cyan")


def print_drift(console: Terminal, drift: Sequence[Drift]) -> None:
    if drift:
        print_text(console, "\nDRIFT  (no known fault)", "bold")
    for difference in drift:
        print_paragraph(
            console,
            f"{difference.step}/{difference.check}: {difference.result!s} ({format_locations(difference.locations)})",
        )


def print_summary(console: Terminal, diagnosis: Diagnosis, *, verbose: bool) -> None:
    console.print()
    if lines := list_reason_counts(diagnosis.unknown, console.clean):
        hint = "" if verbose else "; -v lists them"
        print_text(
            console, f"{format_count(len(diagnosis.unknown), 'check')} unknown: {join_first(lines, 3)}{hint}", "yellow"
        )
        if verbose:
            print_unwrapped(console, "\n".join(list_ids(diagnosis.unknown)), 2, "")
    if (diagnosis.selection or not diagnosis.is_broken) and (facts := describe_facts(diagnosis)):
        print_text(console, facts)
    print_text(console, format_summary(diagnosis), "bold")
    print_command(console, suggest_next(diagnosis), 0)


def print_heading(console: Terminal, kind: str, id: str, locations: Sequence[str], detail: str, style: str) -> None:
    console.print()
    line = Text.assemble(
        (kind, style), "  ", (console.clean(id), "bold"), f"  on {format_locations(locations)}  ({detail})"
    )
    first, *rest = line.wrap(console, console.width - 2)
    for part in (first, *(Text.assemble("  ", part) for part in rest)):
        part.rstrip()
        console.print(part, soft_wrap=True)


def print_paragraph(console: Terminal, text: str, style: str = "") -> None:
    for line in wrap_text(console.clean(text), max(console.width - 2, LEAST_WIDTH)):
        console.print(Text(f"  {line}", style), soft_wrap=True)


def print_detail(console: Terminal, name: str, text: str, style: str = "") -> None:
    print_field(console, f"  {name}", text, INDENT, style)
