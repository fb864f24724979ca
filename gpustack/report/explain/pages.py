"""The pages of the manual. A step has the docstring of its module as its page, a check the docstring of its function;
errors have gpustack/pages, alerts have docs/alerts.md, faults and states have the catalogue."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from textwrap import fill

from gpustack.ask.judge import Check
from gpustack.command import add_inventory
from gpustack.config.resources import PACKAGE
from gpustack.files.yaml_text import parse_shipped
from gpustack.report.explain.alerts import PREFIX, read_alerts, render_alert
from gpustack.report.explain.documents import read_document
from gpustack.report.explain.faults import list_faults, list_states, render_fault, render_state
from gpustack.report.explain.width import compute_width, wrap_text
from gpustack.steps import MODULES, STEPS
from gpustack.steps.step import Step, format_check_name

PAGES = PACKAGE / "pages"


@dataclass(frozen=True)
class Page:
    """Hold the page of an error. `title` is a sentence, `text` has paragraphs, and `do` has one or more commands or
    sentences, or is empty."""

    title: str
    text: str
    do: str = ""


@cache
def read_error_pages() -> Mapping[str, Page]:
    """Read the pages of all errors, by their references."""
    pages: dict[str, Page] = {}
    for path in sorted(PAGES.glob("*.yaml")):
        for reference, page in parse_shipped(path.read_text(encoding="utf-8")).items():
            pages[reference] = Page(**{key: str(value).strip() for key, value in page.items()})
    return pages


def list_steps() -> Mapping[str, str]:
    """List the first sentences of all steps, by id."""
    return {step.id: extract_summary(read_docstring(step)) for step in STEPS}


def list_checks() -> Mapping[str, tuple[Step, Check]]:
    """List all checks by `step/check`."""
    return {f"{step.id}/{format_check_name(check)}": (step, check) for step in STEPS for check in step.checks}


def find_page(topic: str) -> str:
    """Find the page of a step, a check (`step/check`, or its name where only one step has it), the reference of an
    error, an alert (`alert-gpulost` or GpuLost), a fault, a state or a document (`docs/limits.md`). An error
    that is a fault too has both pages. Return an empty string where there is none."""
    steps, checks, errors = {step.id: step for step in STEPS}, list_checks(), read_error_pages()
    if step := steps.get(topic):
        return "\n".join(render_step(step))
    if page := errors.get(topic):
        return "\n".join(
            [*render_page(topic, page), *(render_fault(list_faults()[topic]) if topic in list_faults() else ())]
        )
    if topic in list_faults() or topic in list_states():
        return "\n".join(
            render_fault(list_faults()[topic]) if topic in list_faults() else render_state(list_states()[topic])
        )
    if document := read_document(topic):
        return document
    alert = PREFIX + topic.lower().removeprefix(PREFIX)
    if alert in read_alerts():
        return "\n".join(render_alert(alert, read_alerts()[alert]))
    matches = find_checks(topic)
    return "\n".join(render_check(matches[0], *checks[matches[0]])) if len(matches) == 1 else ""


def find_checks(topic: str) -> list[str]:
    """Find the checks with this whole name, or with this name behind that of their step."""
    return [name for name in list_checks() if topic in (name, name.partition("/")[2])]


def render_step(step: Step) -> Iterator[str]:
    yield f"{step.id}\n"
    yield wrap_paragraphs(read_docstring(step))
    yield "\nChecks"
    for check in step.checks:
        yield format_check_entry(f"{step.id}/{format_check_name(check)}", extract_summary(check.__doc__ or ""))
    yield "\nAnsible"
    target = "on one control plane" if step.scope == "cluster" else "on every host that differs"
    yield f"  playbooks/{step.id}.yml, {target}"
    if step.dependencies:
        yield f"\nNeeds\n  {', '.join(step.dependencies)}"
    yield ""


def render_check(name: str, step: Step, check: Check) -> Iterator[str]:
    yield f"{name}: a check of the step {step.id}\n"
    yield wrap_paragraphs(inspect.cleandoc(check.__doc__ or ""))
    yield f"\nMore\n  gpustack explain {step.id}\n"


def render_page(reference: str, page: Page) -> Iterator[str]:
    yield f"{reference}: {page.title}\n"
    yield wrap_paragraphs(page.text)
    if page.do:
        yield "\nWhat to do"
        yield "\n".join(f"  {add_inventory(line, 'INVENTORY')}" for line in page.do.splitlines())
    yield ""


def read_docstring(step: Step) -> str:
    """Read the docstring of the module that defines the step."""
    module = next(module for module in MODULES if module.STEP is step)
    return inspect.cleandoc(module.__doc__ or "")


def extract_summary(text: str) -> str:
    return inspect.cleandoc(text).partition("\n\n")[0].replace("\n", " ")


def format_check_entry(name: str, text: str) -> str:
    """Format a check of a step: its name and its text on one line, or the wrapped text below a long name."""
    indent = " " * 4
    if len(name) + len(text) + 4 <= compute_width():
        return f"  {name}  {text}"
    return f"  {name}\n{fill(text, compute_width(), initial_indent=indent, subsequent_indent=indent)}"


def wrap_paragraphs(text: str) -> str:
    """Wrap paragraphs. Indented text and lists stay as they are."""
    parts = []
    for paragraph in text.split("\n\n"):
        is_preformatted = any(line.startswith((" ", "- ", "* ")) for line in paragraph.splitlines())
        parts.append(paragraph if is_preformatted else wrap_text(paragraph))
    return "\n\n".join(parts)
