"""Documents of a diagnosis report everything that counts for its exit status."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gpustack.ask.recording import read_recording
from gpustack.doctor.diagnose import diagnose
from gpustack.exit_status import ExitStatus
from gpustack.report.doctor.html import render_html
from gpustack.report.doctor.json import render_json
from gpustack.report.doctor.junit import render_junit
from gpustack.report.doctor.text import render_human
from gpustack.report.terminal import Terminal
from tests.replay.test_accuracy import FOLDER
from tests.snapshots.fixture import restore_recording


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.jsonl")), ids=lambda path: path.stem)
def test_all_documents_report_the_same_unknown_checks(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = tmp_path / "recording.jsonl"
    recording.write_text(restore_recording(path))
    diagnosis = diagnose(read_recording(recording))
    document, suites = json.loads(render_json(diagnosis)), ET.fromstring(render_junit(diagnosis))
    render_human(Terminal(), diagnosis)
    counts = {
        "human": sum(map(int, re.findall(r"^(\d+) checks? unknown:", capsys.readouterr().out, re.MULTILINE))),
        "json": sum(judgement["outcome"] == "unknown" for judgement in document["judgements"]),
        "junit": int(suites.attrib["errors"]),
        "html": sum(map(int, re.findall(r'Unknown <span class="where">(\d+) check', render_html(diagnosis)))),
    }
    assert set(counts.values()) == {len(diagnosis.unknown)}, counts
    if diagnosis.exit_status == ExitStatus.UNKNOWN:
        assert len(diagnosis.unknown) + len(document["unexplained_symptoms"]) > 0
        assert int(suites.attrib["errors"]) + int(suites.attrib["failures"]) > 0
