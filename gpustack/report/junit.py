"""Results for CI systems as JUnit XML, with one suite per step and one case per check and location.

A difference is a failure, an unknown check is an error, and a check that waits for another step is skipped. A task that
failed is a failure in the suite `rollout`.
"""

from collections.abc import Iterable
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import Evidence
from gpustack.ask.redact.printable import clean_text
from gpustack.config.inventory import Inventory
from gpustack.report.format import build_cleaner, format_location
from gpustack.rollout.plan import Outcome, Plan, PlaybookRun, StepState, Verification


def render_plan(plan: Plan) -> str:
    return render_junit_document("gpustack plan", build_suites(plan), plan.snapshot.seconds, plan.inventory)


def render_verification(verification: Verification) -> str:
    return render_junit_document(
        "gpustack verify", build_suites(verification.plan), verification.seconds, verification.plan.inventory
    )


def render_outcome(outcome: Outcome) -> str:
    suites = [*build_rollout_suites(outcome.playbook_runs), *build_suites(outcome.verification.plan)]
    return render_junit_document("gpustack install", suites, outcome.seconds, outcome.before.inventory)


def render_junit_document(name: str, suites: Iterable[Element], seconds: float, inventory: Inventory | None) -> str:
    """Render suites as a document. Every JUnit document passes here, so no text of it has a secret or an escape
    left."""
    clean = build_cleaner(inventory)
    root = Element("testsuites", {"name": name, "time": f"{seconds:.3f}"})
    root.extend(suites)
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    # XML 1.0 cannot hold control characters, not even escaped, nor surrogates. Texts are cleaned one by one, since an
    # escape sequence without an end would take the quote behind it along.
    for entry in root.iter():
        entry.text = clean(entry.text) if entry.text else None
        entry.attrib.update({key: clean(value) for key, value in entry.attrib.items()})
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def build_suites(plan: Plan) -> list[Element]:
    timestamp = plan.snapshot.started_at.strftime("%Y-%m-%dT%H:%M:%S")
    return [
        build_suite(
            step, [build_case(state, judgement) for state in states for judgement in state.judgements], timestamp
        )
        for step, states in groupby(plan.states, key=lambda state: state.step)
    ]


def build_suite(name: str, cases: list[Element], timestamp: str = "") -> Element:
    suite = Element("testsuite", {"name": name, "tests": str(len(cases))})
    for tag, total in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(total, str(sum(1 for entry in cases if entry.find(tag) is not None)))
    if timestamp:
        suite.set("timestamp", timestamp)
    suite.extend(cases)
    return suite


def build_case(state: StepState, judgement: Judgement) -> Element:
    seconds = sum(entry.answer.seconds for entry in judgement.evidence)
    element = build_entry(f"{state.step}.{judgement.id}", state.location, seconds)
    output = "\n".join(format_evidence(entry) for entry in judgement.evidence)
    if judgement.result:
        add_result(element, "failure", str(judgement.result), judgement.result.cure, output)
    elif judgement.outcome == "unknown" and state.outcome == "pending":
        add_result(element, "skipped", f"pending, waits for {state.after}")
    elif judgement.outcome == "unknown":
        add_result(element, "error", judgement.reason, "unknown", output)
    return element


def build_rollout_suites(playbook_runs: Iterable[PlaybookRun]) -> list[Element]:
    cases = []
    for playbook_run in playbook_runs:
        for host in playbook_run.hosts:
            element = build_entry(f"rollout.{playbook_run.step}", host, playbook_run.seconds)
            for failure in playbook_run.failures:
                if failure.host == host:
                    output = f"{failure.path}\n{failure.message}\n{playbook_run.command}"
                    add_result(element, "failure", failure.task, "task", output)
            cases.append(element)
    return [build_suite("rollout", cases)] if cases else []


def build_entry(classname: str, location: str, seconds: float) -> Element:
    return Element("testcase", {"classname": classname, "name": format_location(location), "time": f"{seconds:.3f}"})


def add_result(element: Element, tag: str, message: str, kind: str = "", text: str = "") -> None:
    result = SubElement(element, tag, {"message": message})
    if kind:
        result.set("type", kind)
    result.text = text or None


def add_output(element: Element, text: str) -> None:
    SubElement(element, "system-out").text = text


def format_evidence(entry: Evidence) -> str:
    # Answers are cleaned one by one, since an escape sequence without an end would take the next answer along.
    output = clean_text(entry.answer.missing_reason or f"{entry.answer.stdout}{entry.answer.stderr}").rstrip()
    return f"{format_location(entry.answer.location)} $ {entry.command.strip()}\n{output}"
