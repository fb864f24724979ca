"""Recordings of faults that were once played on a lab are judged again: doctor names exactly each fault."""

from pathlib import Path

import pytest

from gpustack.ask.judge import Judgement
from gpustack.ask.recording import read_recording
from gpustack.doctor.diagnose import diagnose
from tests.snapshots.fixture import restore_recording

FOLDER = Path(__file__).parents[1] / "snapshots"
HEALTHY = sorted(FOLDER.glob("healthy*.jsonl"))
FIXTURES = [path for path in sorted(FOLDER.glob("*.jsonl")) if path not in HEALTHY]


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_a_healthy_cluster_has_no_finding(path: Path, tmp_path: Path) -> None:
    recording = tmp_path / "recording.jsonl"
    recording.write_text(restore_recording(path))
    diagnosis = diagnose(read_recording(recording))
    assert [root.id for root in diagnosis.verdict.roots] == []
    assert diagnosis.verdict.unexplained_symptoms == ()
    assert diagnosis.broken_states == ()


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_exactly_the_injected_faults_are_named(path: Path, tmp_path: Path) -> None:
    recording = tmp_path / "recording.jsonl"
    recording.write_text(restore_recording(path))
    verdict = diagnose(read_recording(recording)).verdict
    roots = verdict.roots
    expected_ids = {part.partition("--")[0] for part in path.stem.split("+")}
    correlated_ids = {judgement.id for root in roots for judgement in root.correlated_causes} & expected_ids
    assert {finding.id for finding in roots} | correlated_ids == expected_ids
    assert [symptom.id for symptom in verdict.unexplained_symptoms] == []
    assert [judgement.id for root in roots for judgement in root.judgements if not has_quote(judgement)] == []


def has_quote(judgement: Judgement) -> bool:
    """Tell whether one line of a text answer has every word that the check quotes."""
    words = judgement.result.quote.split() if judgement.result else []
    texts = (entry.answer.stdout for entry in judgement.evidence if not entry.answer.stdout.startswith(("{", "[")))
    return not words or any(all(word in line for word in words) for text in texts for line in text.splitlines())
