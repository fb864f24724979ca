"""A standard output that takes nothing is reported in one message, and is no bug of ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from gpustack.cli.error_handler import report_errors

COMMAND = f"{sys.executable} -m gpustack.cli.app"


def ran(words: str, home: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(
        ["bash", "-c", f"{COMMAND} {words}"], env=env, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("words", ["version", "explain"])
@pytest.mark.parametrize(("where", "why"), [(">&-", "it is closed"), (">/dev/full", "No space left on device")])
def test_an_output_that_takes_nothing(words: str, where: str, why: str, tmp_path: Path) -> None:
    done = ran(f"{words} {where}", tmp_path)
    assert done.stderr.splitlines() == [
        "error: The result cannot be written to the standard output.",
        f"why:   {why}",
        "more:  gpustack explain output-unwritable",
    ]
    assert done.returncode == 2
    assert not list(tmp_path.rglob("bug-report.txt"))


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_errors_that_cannot_be_printed_change_no_status(where: str, tmp_path: Path) -> None:
    done = ran(f"explain no-such-page {where}", tmp_path)
    assert (done.returncode, done.stderr) == (2, "")


@pytest.mark.parametrize(
    ("where", "last"),
    [
        (">&-", "more:  gpustack explain output-unwritable"),
        (">/dev/full", "The error was not written to stdout: The result cannot be written to the standard output."),
    ],
)
def test_a_document_that_cannot_be_written_does_not_hide_the_error(where: str, last: str, tmp_path: Path) -> None:
    done = ran(f"plan -i /absent -o json {where}", tmp_path)
    assert done.returncode == (2 if where == ">&-" else 3)
    assert done.stderr.splitlines()[-1] == last
    assert not list(tmp_path.rglob("bug-report.txt"))


def test_of_a_reader_that_has_gone_nothing_is_reported(tmp_path: Path) -> None:
    assert ran("version | true", tmp_path).stderr == ""


def test_an_interrupt_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    """typer swallows the KeyboardInterrupt of a command."""
    app = typer.Typer()

    @app.command()
    def wait() -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as ended, report_errors():
        app([])
    assert (ended.value.code, capsys.readouterr().err) == (130, "\ninterrupted\n")
