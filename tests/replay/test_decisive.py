"""The decisive words of the measure of unknown faults: each recording has some, and no healthy report has them."""

from gpustack.doctor.diagnose import diagnose
from scripts.accuracy.decisive import find_words, load_words, print_findings
from scripts.accuracy.replay import read_recordings


def test_each_recording_has_words_and_each_word_a_recording() -> None:
    names = {name for name, _ in read_recordings() if "+" not in name}
    assert all(find_words(name) for name in names)
    assert set(load_words()) <= names | {name.partition("--")[0] for name in names}


def test_no_healthy_report_has_decisive_words() -> None:
    reports = [print_findings(diagnose(recording)).lower() for _, recording in read_recordings(healthy=True)]
    assert [words for words in load_words().values() for report in reports if words.lower() in report] == []
