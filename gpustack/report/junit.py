"""Results for CI systems: JUnit XML with one suite per step, one case per check and place.

Broken is a failure, unknown is an error, what waits for another step is skipped. A playbook that failed is
a failure in the suite `rollout`.
"""

from collections.abc import Iterable
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from gpustack.ask.judge import Judgement
from gpustack.ask.redact.printable import plain
from gpustack.ask.view import Evidence
from gpustack.config.inventory import Inventory
from gpustack.report.format import cleaner, place
from gpustack.rollout.plan import Outcome, Plan, Played, StepState, Verification


def plan(found: Plan) -> str:
    return document("gpustack plan", suites(found), found.snapshot.took, found.inventory)


def verification(checked: Verification) -> str:
    return document("gpustack verify", suites(checked.plan), checked.seconds, checked.plan.inventory)


def outcome(done: Outcome) -> str:
    found = [*rollout(done.played), *suites(done.verification.plan)]
    return document("gpustack install", found, done.seconds, done.before.inventory)


def document(name: str, found: Iterable[Element], seconds: float, inventory: Inventory | None) -> str:
    """What every JUnit document passes: no text of it has a secret or an escape left."""
    clean = cleaner(inventory)
    root = Element("testsuites", {"name": name, "time": f"{seconds:.3f}"})
    root.extend(found)
    for counted in ("tests", "failures", "errors", "skipped"):
        root.set(counted, str(sum(int(suite.get(counted, "0")) for suite in root)))
    # XML 1.0 cannot hold control characters, not even escaped, nor surrogates. Each text by itself: an escape sequence
    # that has no end in one would take the quote behind it along.
    for entry in root.iter():
        entry.text = clean(entry.text) if entry.text else None
        entry.attrib.update({key: clean(value) for key, value in entry.attrib.items()})
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def suites(found: Plan) -> list[Element]:
    taken = found.snapshot.taken.strftime("%Y-%m-%dT%H:%M:%S")
    return [
        suite(step, [case(state, judgement) for state in states for judgement in state.judgements], taken)
        for step, states in groupby(found.states, key=lambda state: state.step)
    ]


def suite(name: str, cases: list[Element], taken: str = "") -> Element:
    made = Element("testsuite", {"name": name, "tests": str(len(cases))})
    for tag, counted in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        made.set(counted, str(sum(1 for entry in cases if entry.find(tag) is not None)))
    if taken:
        made.set("timestamp", taken)
    made.extend(cases)
    return made


def case(state: StepState, judgement: Judgement) -> Element:
    took = sum(entry.answer.took for entry in judgement.evidence)
    made = entry_for(f"{state.step}.{judgement.id}", state.where, took)
    output = "\n".join(shown(entry) for entry in judgement.evidence)
    if judgement.result:
        add(made, "failure", str(judgement.result), judgement.result.cure, output)
    elif judgement.outcome == "unknown" and state.outcome == "pending":
        add(made, "skipped", f"pending, waits for {state.after}")
    elif judgement.outcome == "unknown":
        add(made, "error", judgement.why, "unknown", output)
    return made


def rollout(played: Iterable[Played]) -> list[Element]:
    cases = []
    for one in played:
        for host in one.hosts:
            made = entry_for(f"rollout.{one.step}", host, one.seconds)
            for failure in one.failures:
                if failure.host == host:
                    output = f"{failure.path}\n{failure.message}\n{one.command}"
                    add(made, "failure", failure.task, "task", output)
            cases.append(made)
    return [suite("rollout", cases)] if cases else []


def entry_for(classname: str, where: str, seconds: float) -> Element:
    return Element("testcase", {"classname": classname, "name": place(where), "time": f"{seconds:.3f}"})


def add(made: Element, tag: str, message: str, kind: str = "", text: str = "") -> None:
    found = SubElement(made, tag, {"message": message})
    if kind:
        found.set("type", kind)
    found.text = text or None


def shown(entry: Evidence) -> str:
    # By itself: an escape sequence without an end would take what another host says along.
    output = plain(entry.answer.lost or f"{entry.answer.out}{entry.answer.err}").rstrip()
    return f"{place(entry.answer.where)} $ {entry.command.strip()}\n{output}"
