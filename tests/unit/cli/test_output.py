"""A standard output that takes nothing is reported in one message, and is no bug of ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from gpustack.cli.error_handler import report_errors

COMMAND = f"{sys.executable} -m gpustack.cli.app"


def run_command(words: str, home: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(
        ["bash", "-c", f"{COMMAND} {words}"], env=env, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("words", ["version", "explain"])
@pytest.mark.parametrize(
    ("redirection", "reason"), [(">&-", "it is closed"), (">/dev/full", "No space left on device")]
)
def test_an_output_that_takes_nothing_is_reported(words: str, redirection: str, reason: str, tmp_path: Path) -> None:
    process = run_command(f"{words} {redirection}", tmp_path)
    assert process.stderr.splitlines() == [
        "error: The result cannot be written to the standard output.",
        f"why:   {reason}",
        "more:  gpustack explain output-unwritable",
    ]
    assert process.returncode == 2
    assert not list(tmp_path.rglob("bug-report.txt"))


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_errors_that_cannot_be_printed_change_no_status(redirection: str, tmp_path: Path) -> None:
    process = run_command(f"explain no-such-page {redirection}", tmp_path)
    assert (process.returncode, process.stderr) == (2, "")


@pytest.mark.parametrize(
    ("redirection", "last"),
    [
        (">&-", "more:  gpustack explain output-unwritable"),
        (">/dev/full", "The error was not written to stdout: The result cannot be written to the standard output."),
    ],
)
def test_a_document_that_cannot_be_written_does_not_hide_the_error(redirection: str, last: str, tmp_path: Path) -> None:
    process = run_command(f"plan -i /absent -o json {redirection}", tmp_path)
    assert process.returncode == (2 if redirection == ">&-" else 3)
    assert process.stderr.splitlines()[-1] == last
    assert not list(tmp_path.rglob("bug-report.txt"))


def test_of_a_reader_that_has_gone_nothing_is_reported(tmp_path: Path) -> None:
    assert run_command("version | true", tmp_path).stderr == ""


def test_an_interrupt_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    """typer swallows the KeyboardInterrupt of a command."""
    app = typer.Typer()

    @app.command()
    def wait() -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as excinfo, report_errors():
        app([])
    assert (excinfo.value.code, capsys.readouterr().err) == (130, "\ninterrupted\n")
