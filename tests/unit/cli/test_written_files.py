"""The files that commands write: private, through no link, and refused with a reason."""

import os
import traceback
from pathlib import Path

import platformdirs
import pytest
from typer.testing import CliRunner

from gpustack.ask import recording
from gpustack.cli import error_handler
from gpustack.cli.app import app
from gpustack.errors import UsageError
from gpustack.exit_status import ExitStatus
from gpustack.rollout import overlay
from tests.worlds.snapshots.reset_hosts import build_snapshot


def read_mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_recordings_and_overlays_are_private(tmp_path: Path) -> None:
    for path in (tmp_path / "snapshot.jsonl", tmp_path / "overlay.yml"):
        path.touch(mode=0o644)
    recording.write_recording(build_snapshot(), tmp_path / "snapshot.jsonl")
    overlay.write_overlay(build_snapshot(), tmp_path)
    assert [read_mode(path) for path in tmp_path.iterdir()] == [0o600, 0o600]


def test_a_snapshot_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    recording.write_recording(build_snapshot(), tmp_path / "taken")
    (tmp_path / "link").symlink_to("precious")
    os.mkfifo(tmp_path / "pipe")
    for output_path in (tmp_path / "link", tmp_path / "pipe", tmp_path / "none" / "file", tmp_path):
        error = (
            CliRunner()
            .invoke(app, ["snapshot", "--from", str(tmp_path / "taken"), "--out", str(output_path)])
            .exception
        )
        assert isinstance(error, UsageError), error
        assert (error.reference, str(output_path) in error.message) == ("snapshot-unwritable", True)


@pytest.mark.parametrize(
    "line",
    [
        "snapshot --from {recording} --out {file}",
        "kubeconfig --user ann --out {file}",
        "profile record --pod a/b --prometheus http://127.0.0.1:1 --out {file}",
        "profile baseline --node a --prometheus http://127.0.0.1:1 --out {file}",
        "gpu list --prometheus http://127.0.0.1:1 --record {file}",
        "capacity report --prometheus http://127.0.0.1:1 --record {file}",
    ],
)
def test_no_command_overwrites_a_file_without_force(line: str, tmp_path: Path) -> None:
    recording.write_recording(build_snapshot(), tmp_path / "recording")
    (tmp_path / "file").write_text("mine")
    words = line.format(recording=tmp_path / "recording", file=tmp_path / "file").split()
    error = CliRunner().invoke(app, words).exception
    assert isinstance(error, UsageError), error
    assert error.reference == "output-exists"
    assert (tmp_path / "file").read_text() == "mine"


def test_force_overwrites_a_file(tmp_path: Path) -> None:
    recording.write_recording(build_snapshot(), tmp_path / "recording")
    (tmp_path / "file").write_text("mine")
    words = ["snapshot", "--from", str(tmp_path / "recording"), "--out", str(tmp_path / "file"), "--force"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert recording.read_recording(tmp_path / "file").inventory.hosts


def test_a_bug_without_a_place_for_its_report_stays_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(platformdirs, "user_state_path", lambda _: tmp_path / "file" / "state")
    with pytest.raises(SystemExit) as excinfo, error_handler.report_errors():
        raise ValueError("password=S3cretMARK")
    err = capsys.readouterr().err
    assert excinfo.value.code == ExitStatus.BUG
    assert "no report was saved: " in err
    assert "S3cretMARK" not in err


def test_a_bug_report_is_private_and_follows_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    monkeypatch.setattr(platformdirs, "user_state_path", lambda _: state)
    (tmp_path / "precious").write_text("as it was")
    for _ in range(2):
        path = Path(error_handler.save_report(ValueError("of ours")))
        assert (read_mode(state), read_mode(path)) == (0o700, 0o600)
        assert path.read_text() == "".join(traceback.format_exception(ValueError("of ours")))
        path.unlink()
        path.symlink_to(tmp_path / "precious")
    assert (tmp_path / "precious").read_text() == "as it was"


@pytest.mark.parametrize("words", ["\x1b[0m", "\x1b]52;c;aGk=\x07", "\u202e", "\x00", "\x9b31m", "\r"])
def test_the_report_of_a_bug_has_no_control_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """`cat` of it is what the message asks for."""
    monkeypatch.setattr(platformdirs, "user_state_path", lambda _: tmp_path)
    text = Path(error_handler.save_report(ValueError(f"a {words} b"))).read_bytes().decode()
    assert words not in text


def test_secrets_of_the_report_are_hidden_behind_control_characters_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platformdirs, "user_state_path", lambda _: tmp_path)
    monkeypatch.setattr(error_handler, "known_secrets", ["correct-horse-battery"])
    text = Path(error_handler.save_report(ValueError("password\x1b[0m: correct-horse-battery"))).read_text()
    assert "correct-horse" not in text
