"""The manual: a page per step (its module's docstring), check (its function's), error (gpustack/pages), alert, and
fault or state of the catalogue."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from textwrap import fill

from gpustack.ask.judge import Check
from gpustack.command import Command
from gpustack.config.complaint import nearest
from gpustack.config.resources import PACKAGE
from gpustack.errors import UsageError
from gpustack.files.yaml_text import parse_shipped
from gpustack.report.explain.alerts import PREFIX, alerts, of_alert
from gpustack.report.explain.faults import faults, of_fault, of_state, states
from gpustack.steps import MODULES, STEPS
from gpustack.steps.step import Step

PAGES = PACKAGE / "pages"
WIDTH = 80


@dataclass(frozen=True)
class Page:
    """`title` is a sentence, `text` paragraphs, `do` one or more commands or sentences (or empty)."""

    title: str
    text: str
    do: str = ""


@cache
def error_pages() -> Mapping[str, Page]:
    """Of all rooms, by reference."""
    found: dict[str, Page] = {}
    for path in sorted(PAGES.glob("*.yaml")):
        for reference, page in parse_shipped(path.read_text()).items():
            found[reference] = Page(**{key: str(value).strip() for key, value in page.items()})
    return found


def checks() -> Mapping[str, tuple[Step, Check]]:
    """By `step/check`."""
    return {f"{step.id}/{name_of(check)}": (step, check) for step in STEPS for check in step.checks}


def name_of(check: Check) -> str:
    return check.__name__.replace("_", "-")


def explain(wanted: str) -> str:
    """The page of a step, a check (`step/check`, or its name where only one has it), an error reference, an alert
    (`alert-gpulost`, or GpuLost), a fault or a state. An error that is a fault too has both pages.

    Raises UsageError with the nearest spelling.
    """
    steps, known, errors = {step.id: step for step in STEPS}, checks(), error_pages()
    if step := steps.get(wanted):
        return "\n".join(of_step(step))
    if page := errors.get(wanted):
        return "\n".join([*of_page(wanted, page), *(of_fault(faults()[wanted]) if wanted in faults() else ())])
    if wanted in faults() or wanted in states():
        return "\n".join(of_fault(faults()[wanted]) if wanted in faults() else of_state(states()[wanted]))
    alert = PREFIX + wanted.lower().removeprefix(PREFIX)
    if alert in alerts():
        return "\n".join(of_alert(alert, alerts()[alert]))
    named = [name for name in known if wanted in (name, name.partition("/")[2])]
    if len(named) == 1:
        return "\n".join(of_check(named[0], *known[named[0]]))
    everything = [*steps, *known, *errors, *alerts(), *faults(), *states()]
    near = nearest(wanted, everything)
    why = f"Several have this name: {', '.join(named)}" if named else f"Did you mean {near}?" if near else ""
    name = named[0] if named else near
    hint = Command("gpustack", "explain", *([name] if name else []))
    raise UsageError("unknown-page", f"There is no page {wanted}.", why, hint)


def contents() -> str:
    """All pages by name, each with its first sentence."""
    lines = ["Steps, in the order in which they are installed"]
    lines += [entry(step.id, first(document(step))) for step in STEPS]
    lines += ["", "Checks"]
    lines += [entry(name, first(check.__doc__ or "")) for name, (_, check) in checks().items()]
    lines += ["", "Alerts"]
    lines += [entry(name, alert.name) for name, alert in alerts().items()]
    lines += ["", "Faults that the doctor knows"]
    lines += [entry(name, fault.title) for name, fault in faults().items()]
    lines += ["", "States that several faults lead to"]
    lines += [entry(name, state.title) for name, state in states().items()]
    lines += ["", "Errors"]
    lines += [entry(reference, page.title) for reference, page in sorted(error_pages().items())]
    return "\n".join(lines) + "\n"


def of_step(step: Step) -> Iterator[str]:
    yield f"{step.id}\n"
    yield reflowed(document(step))
    yield "\nChecks"
    for check in step.checks:
        yield entry(f"{step.id}/{name_of(check)}", first(check.__doc__ or ""))
    yield "\nAnsible"
    where = "on one control plane" if step.scope == "cluster" else "on every host that differs"
    yield f"  playbooks/{step.id}.yml, {where}"
    if step.depends:
        yield f"\nNeeds\n  {', '.join(step.depends)}"
    yield ""


def of_check(name: str, step: Step, check: Check) -> Iterator[str]:
    yield f"{name}: a check of the step {step.id}\n"
    yield reflowed(inspect.cleandoc(check.__doc__ or ""))
    yield f"\nMore\n  gpustack explain {step.id}\n"


def of_page(reference: str, page: Page) -> Iterator[str]:
    yield f"{reference}: {page.title}\n"
    yield reflowed(page.text)
    if page.do:
        yield "\nWhat to do"
        yield "\n".join(f"  {line}" for line in page.do.splitlines())
    yield ""


def document(step: Step) -> str:
    """The docstring of the module that makes the step."""
    module = next(module for module in MODULES if module.STEP is step)
    return inspect.cleandoc(module.__doc__ or "")


def first(text: str) -> str:
    return inspect.cleandoc(text).partition("\n\n")[0].replace("\n", " ")


def entry(name: str, text: str) -> str:
    """`name  text`, the text on the next line where the name is long; wrapped."""
    indent = " " * 4
    if len(name) + len(text) + 4 <= WIDTH:
        return f"  {name}  {text}"
    return f"  {name}\n{fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent)}"


def reflowed(text: str) -> str:
    """Paragraphs at 80 columns; what is indented or a list is kept as it is."""
    parts = []
    for paragraph in text.split("\n\n"):
        kept = any(line.startswith((" ", "- ", "* ")) for line in paragraph.splitlines())
        parts.append(paragraph if kept else fill(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False))
    return "\n\n".join(parts)
