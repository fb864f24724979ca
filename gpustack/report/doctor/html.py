"""A diagnosis as one HTML file for a ticket: without scripts and external files, for light and dark screens and for
print.

The page is gpustack/report/templates/doctor.html.j2. Its output passes gpustack/report/page.py, so answers of hosts
have no secret, no terminal escape and no markup left.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from gpustack.ask.message import cut_message, shorten_message
from gpustack.ask.probe import Evidence
from gpustack.ask.snapshot import Reach
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.graph import load_graph
from gpustack.doctor.states.state import SEVERITIES, Severity, select_states
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
    format_heading,
    format_summary,
    format_title,
    group_by_text,
    join_reasons,
    list_reason_counts,
    list_refutations,
    list_titles,
)
from gpustack.report.doctor.states import build_explain_command, format_onset, format_subject, format_times
from gpustack.report.evidence import format_command, quote_answer
from gpustack.report.format import Clean, build_cleaner, cut, format_location, format_locations
from gpustack.report.page import make_environment, read_style
from gpustack.report.renderings import DIAGNOSIS

# Characters that the page shows of a text, of a line and of an answer, and lines of an answer. More is cleaned than
# shown, since a secret that was cut is not recognized: the cut is then behind the end of what is shown.
TEXT_LIMIT, LINE_LIMIT, ANSWER_LIMIT, MAX_LINES, READ_LIMIT = 2_000, 400, 8_000, 60, 32_000
SEVERITY_CLASSES: dict[Severity, str] = {"broken": "root", "risk": "unexplained", "note": "note"}
"""The classes of doctor.css for findings of a severity."""


def render_html(diagnosis: Diagnosis, *, verbose: bool = False) -> str:
    """Render the page of a diagnosis. `verbose` unfolds all details."""
    environment, clean = build_environment(), build_cleaner(diagnosis.snapshot.inventory)
    code = diagnosis.exit_status
    return environment.get_template("doctor.html.j2").render(
        clean=lambda text: shorten_message(clean(cut_message(text)), TEXT_LIMIT),
        shorten_answer=build_shortener(clean),
        diagnosis=diagnosis,
        action=find_first_action(diagnosis),
        next_hint=suggest_next(diagnosis),
        inventory=diagnosis.snapshot.inventory,
        verbose=verbose,
        code=code,
        meaning=DIAGNOSIS.build_exit(code)["meaning"],
        product=version("gpustack-cluster"),
        unreachable=list_unreachable_hosts(diagnosis),
        style=read_style(environment, "doctor.css"),
    )


@cache
def build_environment() -> Environment:
    environment = make_environment()
    environment.globals |= {function.__name__: function for function in FUNCTIONS}
    environment.globals |= {
        "graph": load_graph(),
        "max_entries": MAX_ENTRIES,
        "severities": SEVERITIES,
        "classes": SEVERITY_CLASSES,
    }
    environment.filters |= {function.__name__: function for function in FILTERS}
    return environment


def build_shortener(clean: Clean) -> Clean:
    """Return a cleaner of answers that keeps the beginning of a long one."""

    def shorten_answer(output: str) -> str:
        return clean(output) if len(output) <= ANSWER_LIMIT else f"{clean(output[:READ_LIMIT])[:ANSWER_LIMIT]}…"

    return shorten_answer


def format_command_line(entry: Evidence) -> str:
    return cut(format_command(entry), LINE_LIMIT)


def format_excerpt(entry: Evidence, clean: Clean) -> Markup:
    """Format the beginning of an answer, its exit status and whether it is cut."""
    answer = entry.answer
    if answer.missing_reason:
        return escape(f"(no answer: {clean(answer.missing_reason)})")
    output = clean(answer.stdout) + clean(answer.stderr)
    lines = "\n".join(output.splitlines()[:MAX_LINES])[:ANSWER_LIMIT]
    remainder = [] if lines == output.rstrip("\n") else ["… cut here; -o json has all of it"]
    exit_note = [f"(ended with {answer.rc})"] if answer.rc else []
    return escape("\n".join([*filter(None, [lines]), *remainder, *exit_note]) or "(nothing)")


def list_unreachable_hosts(diagnosis: Diagnosis) -> list[tuple[Reach, int]]:
    """List the hosts that were not reached, each with the number of checks that are unknown because of it."""
    check_counts = Counter(judgement.location for judgement in diagnosis.unknown)
    return [(reach, check_counts[reach.host]) for reach in diagnosis.snapshot.reach.values() if not reach.reached]


# Templates call these by their names, with arguments and as filters.
FUNCTIONS: tuple[Callable[..., Any], ...] = (
    build_explain_command,
    describe_drift,
    describe_facts,
    describe_health,
    describe_remediation,
    format_command_line,
    format_heading,
    format_onset,
    format_subject,
    format_summary,
    format_times,
    format_title,
    name_hosts,
    quote_answer,
)
FILTERS: tuple[Callable[..., Any], ...] = (
    describe_changes,
    describe_healthy_hosts,
    format_count,
    format_excerpt,
    format_location,
    format_locations,
    group_by_text,
    join_reasons,
    list_reason_counts,
    list_refutations,
    list_titles,
    select_states,
)
