"""A diagnosis for CI systems, with a suite per layer and a case per fault or state and location. Root causes,
unexplained symptoms and broken objects are failures, unknown checks are errors, consequences are skipped and name their
root cause, and risks are skipped as well."""

from collections.abc import Iterator
from itertools import groupby
from xml.etree.ElementTree import Element

from gpustack.ask.judge import Judgement
from gpustack.doctor.finding import Diagnosis, Place
from gpustack.doctor.graph import load_graph
from gpustack.doctor.states.observers import TITLES
from gpustack.report.junit import add_result, build_entry, build_suite, format_evidence, render_junit_document


def render_junit(diagnosis: Diagnosis) -> str:
    snapshot = diagnosis.snapshot
    timestamp = snapshot.started_at.strftime("%Y-%m-%dT%H:%M:%S")
    reasons = dict(list_consequences(diagnosis))
    broken_roots = diagnosis.select_roots("broken", *(("risk", "note") if diagnosis.strict else ()))
    guilty = {judgement.place for root in broken_roots for judgement in (*root.judgements, *root.correlated_causes)}
    sorted_judgements = sorted(diagnosis.reported_judgements, key=find_suite)
    suites = [
        build_suite(
            layer,
            [
                build_case(judgement, judgement.place in guilty, reasons.get(judgement.place, ""))
                for judgement in judgements
            ],
            timestamp,
        )
        for layer, judgements in groupby(sorted_judgements, key=find_suite)
    ]
    if diagnosis.broken_states:
        suites.append(build_suite("objects", list(build_state_cases(diagnosis)), timestamp))
    if diagnosis.drift:
        suites.append(build_suite("spec", list(build_drift_cases(diagnosis)), timestamp))
    return render_junit_document("gpustack doctor", suites, snapshot.seconds, snapshot.inventory)


def find_suite(judgement: Judgement) -> str:
    """Find the suite of a judgement: the layer of its entry, and `observers` where the catalogue has none. The
    condition of an edge belongs to its cause."""
    if judgement.id in TITLES:
        return "observers"
    return load_graph().list_subjects(judgement.id)[0].layer


def list_consequences(diagnosis: Diagnosis) -> Iterator[tuple[Place, str]]:
    for note in diagnosis.verdict.notes:
        yield note.place, "harmless"
    for symptom in diagnosis.unexplained_symptoms:
        yield from ((effect.place, f"caused by {symptom.id}") for effect in symptom.impact)
    for root in diagnosis.roots:
        yield from (
            (judgement.place, f"{root.severity}: {judgement.result}")
            for judgement in (*root.judgements, *root.correlated_causes)
        )
        yield from ((effect.place, f"caused by {root.id}") for effect in root.impact)


def build_case(judgement: Judgement, guilty: bool, reason: str) -> Element:  # noqa: FBT001 - two kinds of confirmed
    element = build_entry(
        f"{find_suite(judgement)}.{judgement.id}",
        judgement.location,
        sum(entry.answer.seconds for entry in judgement.evidence),
    )
    output = "\n".join(format_evidence(entry) for entry in judgement.evidence)
    if judgement.outcome == "unknown":
        add_result(element, "error", judgement.reason, "unknown", output)
    elif judgement.outcome == "failed" and reason and not guilty:
        add_result(element, "skipped", reason)
    elif judgement.outcome == "failed":
        add_result(element, "failure", str(judgement.result), "root cause" if guilty else "unexplained", output)
    return element


def build_state_cases(diagnosis: Diagnosis) -> Iterator[Element]:
    for state in diagnosis.broken_states:
        for subject in state.subjects:
            element = build_entry(f"objects.{state.kind}", subject, 0.0)
            output = "\n".join(format_evidence(entry) for entry in state.evidence)
            add_result(element, "failure", state.message, "broken", output)
            yield element


def build_drift_cases(diagnosis: Diagnosis) -> Iterator[Element]:
    for drift in diagnosis.drift:
        for location in drift.locations:
            element = build_entry(f"spec.{drift.step}.{drift.check}", location, 0.0)
            add_result(element, "failure", str(drift.result), drift.result.cure)
            yield element
