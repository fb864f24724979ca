"""The manual. A step has the docstring of its module as its page, a check the docstring of its function; errors have
gpustack/pages, alerts have docs/alerts.md, faults and states have the catalogue."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from textwrap import fill

from gpustack.ask.judge import Check
from gpustack.command import Command
from gpustack.config.complaint import find_nearest, suggest_nearest
from gpustack.config.resources import PACKAGE
from gpustack.errors import UsageError
from gpustack.files.yaml_text import parse_shipped
from gpustack.report.explain.alerts import PREFIX, read_alerts, render_alert
from gpustack.report.explain.faults import list_faults, list_states, render_fault, render_state
from gpustack.report.explain.gpu import find_kind
from gpustack.steps import MODULES, STEPS
from gpustack.steps.step import Step, format_check_name

PAGES = PACKAGE / "pages"
WIDTH = 80


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
        for reference, page in parse_shipped(path.read_text()).items():
            pages[reference] = Page(**{key: str(value).strip() for key, value in page.items()})
    return pages


def list_checks() -> Mapping[str, tuple[Step, Check]]:
    """List all checks by `step/check`."""
    return {f"{step.id}/{format_check_name(check)}": (step, check) for step in STEPS for check in step.checks}


def explain_topic(topic: str) -> str:
    """Return the page of a step, a check (`step/check`, or its name where only one step has it), the reference of an
    error, an alert (`alert-gpulost` or GpuLost), a fault or a state. An error that is a fault too has both pages.

    Raise UsageError with the nearest spelling where there is no such page.
    """
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
    alert = PREFIX + topic.lower().removeprefix(PREFIX)
    if alert in read_alerts():
        return "\n".join(render_alert(alert, read_alerts()[alert]))
    matches = [name for name in checks if topic in (name, name.partition("/")[2])]
    if len(matches) == 1:
        return "\n".join(render_check(matches[0], *checks[matches[0]]))
    if kind := find_kind(topic):
        hint = Command("gpustack", "explain", kind, topic)
        raise UsageError("unknown-page", f"There is no page {topic}.", f"There is a page {kind} {topic}.", hint)
    alerts = [name for key, alert in read_alerts().items() for name in (key, alert.name)]
    topics = [*steps, *checks, *errors, *alerts, *list_faults(), *list_states()]
    several = f"Several have this name: {', '.join(matches)}" if matches else ""
    reason = several or suggest_nearest([topic], topics)
    name = matches[0] if matches else find_nearest(topic, topics)
    hint = Command("gpustack", "explain", *([name] if name else []))
    raise UsageError("unknown-page", f"There is no page {topic}.", reason, hint)


def render_contents() -> str:
    """Render the list of all pages by name, each with its first sentence."""
    lines = ["Steps, in the order in which they are installed"]
    lines += [format_entry(step.id, extract_summary(read_docstring(step))) for step in STEPS]
    lines += ["", "Checks"]
    lines += [format_entry(name, extract_summary(check.__doc__ or "")) for name, (_, check) in list_checks().items()]
    lines += ["", "Alerts"]
    lines += [format_entry(name, alert.name) for name, alert in read_alerts().items()]
    lines += ["", "Faults that the doctor knows"]
    lines += [format_entry(name, fault.title) for name, fault in list_faults().items()]
    lines += ["", "States that several faults lead to"]
    lines += [format_entry(name, state.title) for name, state in list_states().items()]
    lines += ["", "Errors"]
    lines += [format_entry(reference, page.title) for reference, page in sorted(read_error_pages().items())]
    return "\n".join(lines) + "\n"


def render_step(step: Step) -> Iterator[str]:
    yield f"{step.id}\n"
    yield wrap_paragraphs(read_docstring(step))
    yield "\nChecks"
    for check in step.checks:
        yield format_entry(f"{step.id}/{format_check_name(check)}", extract_summary(check.__doc__ or ""))
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
        yield "\n".join(f"  {line}" for line in page.do.splitlines())
    yield ""


def read_docstring(step: Step) -> str:
    """Read the docstring of the module that defines the step."""
    module = next(module for module in MODULES if module.STEP is step)
    return inspect.cleandoc(module.__doc__ or "")


def extract_summary(text: str) -> str:
    return inspect.cleandoc(text).partition("\n\n")[0].replace("\n", " ")


def format_entry(name: str, text: str) -> str:
    """Format a name and its text on one line, or the wrapped text below a long name."""
    indent = " " * 4
    if len(name) + len(text) + 4 <= WIDTH:
        return f"  {name}  {text}"
    return f"  {name}\n{fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent)}"


def wrap_paragraphs(text: str) -> str:
    """Wrap paragraphs at 80 columns. Indented text and lists stay as they are."""
    parts = []
    for paragraph in text.split("\n\n"):
        is_preformatted = any(line.startswith((" ", "- ", "* ")) for line in paragraph.splitlines())
        parts.append(
            paragraph if is_preformatted else fill(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False)
        )
    return "\n\n".join(parts)
