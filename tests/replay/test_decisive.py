"""The decisive words of the measure of unknown faults: each recording has some, and no healthy report has them."""

from pathlib import Path

from gpustack.ask.recording import read_recording
from gpustack.doctor.diagnose import diagnose
from tests.replay.test_accuracy import FIXTURES, HEALTHY
from tests.snapshots.decisive import find_words, load_words, print_findings
from tests.snapshots.fixture import restore_recording

NAMES = {path.stem for path in FIXTURES if "+" not in path.stem}


def test_each_recording_has_words_and_each_word_a_recording() -> None:
    assert all(find_words(name) for name in NAMES)
    assert set(load_words()) <= NAMES | {name.partition("--")[0] for name in NAMES}


def test_no_healthy_report_has_decisive_words(tmp_path: Path) -> None:
    reports = []
    for path in HEALTHY:
        (recording := tmp_path / "recording.jsonl").write_text(restore_recording(path))
        reports.append(print_findings(diagnose(read_recording(recording))).lower())
    assert [words for words in load_words().values() for report in reports if words.lower() in report] == []
