"""Measures of the doctor from recordings, without a lab: `python -m scripts.accuracy.replay`.

- Known: a recording is judged by the whole catalogue. Counted are exact roots, and those of which all are certain.
- Unknown (leave one out): a recording of one fault is judged by a catalogue without that fault, its guard and edges.
  *Evidence*: the findings have the decisive words of the recording (tests/snapshots/decisive.yaml). *Vague*: something
  is shown that no healthy recording has, without them. Another root is counted apart, with or without the words.
- Hidden: a harmless fact of host2 is laid over a recording of an unknown fault. Counted are recordings in which a state
  that was shown before is not shown any more.
- Ablation: the confirmed faults are taken for the roots, without the graph.
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpustack.ask.recording import read_recording
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Diagnosis, filter_judgements
from gpustack.doctor.graph import load_graph
from tests.snapshots.decisive import find_words, has_words
from tests.snapshots.fixture import FOLDER, restore_recording
from tests.snapshots.unknown_faults import HARMLESS_FACTS, add_harmless_fact, forget_fault

ANSWERS = ("evidence", "vague", "silent", "other root, likely", "other root, certain")


def main() -> int:
    recordings = dict(read_recordings())
    singles = {name: recording for name, recording in recordings.items() if "+" not in name}
    sys.stdout.write(
        "".join(f"- {line}\n" for line in (*evaluate_known_faults(recordings), *evaluate_unknown_faults(singles)))
    )
    return 0


def read_recordings(*, healthy: bool = False) -> Iterator[tuple[str, Snapshot]]:
    """Read the recordings of faults, or of healthy clusters, by the name of the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "recording")
        for fixture in sorted(FOLDER.glob("*.jsonl")):
            if fixture.name.startswith("healthy") is healthy:
                path.write_text(restore_recording(fixture))
                yield fixture.stem, read_recording(path)


def list_faults(name: str) -> set[str]:
    """List the injected faults of a recording."""
    return {part.partition("--")[0] for part in name.split("+")}


def evaluate_known_faults(recordings: Mapping[str, Snapshot]) -> Iterator[str]:
    diagnoses = {name: diagnose(recording) for name, recording in recordings.items()}
    faults = {name: list_faults(name) for name in recordings}
    exact_names = [name for name, diagnosis in diagnoses.items() if find_roots(diagnosis, faults[name]) == faults[name]]
    certain_names = [name for name in exact_names if all(root.certainty == "certain" for root in diagnoses[name].roots)]
    names_without_graph = [name for name, diagnosis in diagnoses.items() if list_confirmed(diagnosis) == faults[name]]
    yield format_share("Known faults, exact", exact_names, recordings)
    yield format_share("Known faults, exact and certain", certain_names, recordings)
    yield format_share("Known faults, exact without the graph", names_without_graph, recordings)


def find_roots(diagnosis: Diagnosis, faults: set[str]) -> set[str]:
    correlated_ids = {cause.id for root in diagnosis.roots for cause in root.correlated_causes}
    return {root.id for root in diagnosis.roots} | (correlated_ids & faults)


def list_confirmed(diagnosis: Diagnosis) -> set[str]:
    """List the confirmed faults that may be roots, whatever explains them."""
    faults = load_graph().faults
    failures = filter_judgements(diagnosis.judgements, "failed")
    return {
        failure.id
        for failure in failures
        if failure.id in faults and faults[failure.id].role in ("fault", "conditional")
    }


def evaluate_unknown_faults(singles: Mapping[str, Snapshot]) -> Iterator[str]:
    answers: dict[str, str] = {}
    hidden_names, names_with_states, names_with_words = [], [], []
    old_drift = {key for _, recording in read_recordings(healthy=True) for key in list_drift(diagnose(recording))}
    for name, recording in singles.items():
        (fault,) = list_faults(name)
        with forget_fault(fault):
            diagnosis = diagnose(recording)
            is_decisive = has_words(diagnosis, find_words(name))
            names_with_words += [name] if is_decisive else []
            answers[name] = classify_answer(diagnosis, old_drift, is_decisive=is_decisive)
            if not (states := list_states(diagnosis)):
                continue
            names_with_states.append(name)
            if any(states - list_states(diagnose(add_harmless_fact(recording, fact))) for fact in HARMLESS_FACTS):
                hidden_names.append(name)
    for answer in ANSWERS:
        names = [name for name, recorded_answer in answers.items() if recorded_answer == answer]
        list_of_names = f": {', '.join(names)}" if answer != "evidence" and names else ""
        yield format_share(f"Unknown faults, {answer}", names, singles) + list_of_names
    yield format_share("Unknown faults, decisive words whatever the root", names_with_words, singles)
    yield (
        format_share("Unknown faults of which a harmless fact hides a state", hidden_names, names_with_states)
        + f": {', '.join(hidden_names)}"
    )


def classify_answer(diagnosis: Diagnosis, old_drift: set[tuple[str, str, str]], *, is_decisive: bool) -> str:
    """Classify what the doctor says of a fault that it does not know. `old_drift` is none of the fault: charts and
    checks changed since the recordings were made."""
    if diagnosis.roots:
        certainties = {root.certainty for root in diagnosis.roots}
        return f"other root, {'certain' if 'certain' in certainties else 'likely'}"
    if is_decisive:
        return "evidence"
    is_shown = list_states(diagnosis) or diagnosis.abnormal_states or list_drift(diagnosis) - old_drift
    return "vague" if is_shown else "silent"


def list_drift(diagnosis: Diagnosis) -> set[tuple[str, str, str]]:
    return {(drift.step, drift.check, str(drift.result)) for drift in diagnosis.drift}


def list_states(diagnosis: Diagnosis) -> set[tuple[str, str]]:
    """List the places of the states that are shown as unexplained."""
    return {judgement.place for symptom in diagnosis.unexplained_symptoms for judgement in symptom.judgements}


def format_share(title: str, part: Sequence[str], total: Mapping[str, object] | Sequence[str]) -> str:
    return f"{title}: {len(part)} of {len(total)} ({len(part) / max(len(total), 1):.0%})"


if __name__ == "__main__":
    sys.exit(main())
