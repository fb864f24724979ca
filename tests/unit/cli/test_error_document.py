"""A command that fails before it has a result prints why in the format that was asked for."""

import io
import json
import sys
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from gpustack.cli import error_handler
from gpustack.cli.app import app
from gpustack.cli.error_handler import HINTS, report_errors
from gpustack.errors import ConfigError, InputError, UsageError
from gpustack.report.error_document import ErrorDocument
from gpustack.report.explain.pages import read_error_pages
from gpustack.report.guard import GuardedStream
from tests.schemas import check_shape


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ending, report_errors():
        app(list(words))
    return int(ending.value.code or 0)


def run_failing(*words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Run a command that fails, and return its document, after a check of its shape and of the exit status."""
    code = run(*words)
    text = capsys.readouterr().out
    check_shape(ErrorDocument, text)
    document: dict[str, Any] = json.loads(text)
    assert document["exit"]["code"] == code
    return document


@pytest.mark.parametrize("output", [["-o", "json"], ["-ojson"], ["--output=json"], ["-qo", "json"]])
def test_an_error_is_a_document(output: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_failing("verify", "-i", "/absent", *output, capsys=capsys) == {
        "schema": "gpustack/error/v1",
        "exit": {"code": 3, "meaning": "the configuration is wrong"},
        "reasons": ["The inventory /absent does not exist."],
        "reference": "inventory-missing",
        "hint": "gpustack init DIR    # writes an example",
    }


def test_an_error_of_a_package_without_options_gets_the_hint_of_its_reference(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert set(HINTS) <= set(read_error_pages())
    with pytest.raises(SystemExit) as ending, report_errors():
        raise InputError("capacity-clusters", "It has several clusters.")
    assert (ending.value.code, "do:    the same command with --cluster NAME" in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("gpu config set", "gpustack gpu config set --help"),
        ("gpu config set --clocks 0,0 --for 5m", "the same command without --for"),
        ("gpu watch bogus", "gpustack explain metric"),
        ("profile analyze run.json --threshold dram", "gpustack profile thresholds"),
    ],
)
def test_a_value_that_a_package_cannot_use_gets_the_hint_of_its_command(
    words: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(*words.split())
    assert f"do:    {hint}\n" in capsys.readouterr().err


def test_an_error_without_a_hint_names_its_page() -> None:
    assert UsageError("gpu-no-engine", "No DCGM host engine can be asked.").hint == "gpustack explain gpu-no-engine"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--bogus", "-o", "json"], "No such option: --bogus"),
        (["-o", "json", "--limit"], "Option '--limit' requires an argument."),
        (["-o", "json", "extra"], "No such argument: extra."),
    ],
)
def test_a_wrong_command_line_is_a_document(words: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = run_failing("plan", *words, capsys=capsys)
    assert document["reasons"][0].startswith(reason)
    assert (document["exit"]["code"], document["hint"]) == (2, "gpustack plan --help")


@pytest.mark.parametrize(
    ("words", "command"), [("gpu lst -o json", "gpustack gpu"), ("pln --output=json -i x", "gpustack")]
)
def test_a_mistyped_command_is_a_document(words: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = run_failing(*words.split(), capsys=capsys)
    assert document["reasons"][0].startswith("No such command")
    assert (document["exit"]["code"], document["hint"]) == (2, f"{command} --help")


def test_a_mistyped_command_is_a_case_of_junit(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("gpu", "lst", "-ojunit") == 2
    assert fromstring(capsys.readouterr().out).get("errors") == "1"


def test_an_error_is_a_case_of_junit(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", "-i", "/absent", "-o", "junit") == 3
    root = fromstring(capsys.readouterr().out)
    (case,) = root.iter("testcase")
    assert (root.get("name"), root.get("errors"), case.get("name")) == ("gpustack plan", "1", "inventory-missing")


@pytest.mark.parametrize("words", [[], ["-o", "human"], ["-o", "yaml"], ["--limit", "-o"], ["--", "-o", "json"]])
def test_without_such_a_format_there_is_no_document(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run("plan", "-i", "/absent", *words)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("error", "code", "meaning"),
    [(KeyboardInterrupt(), 130, "interrupted"), (ValueError("x"), 70, "a bug of gpustack")],
)
def test_interrupts_and_bugs_are_documents(
    error: BaseException,
    code: int,
    meaning: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("gpustack.cli.option_groups.Session.make_plan", stop)
    document = run_failing("plan", "-o", "json", capsys=capsys)
    assert document["exit"] == {"code": code, "meaning": meaning}
    assert (document["reference"], document["hint"]) == (None, None)


@pytest.mark.parametrize("result", ["", '{"schema": "gpustack/plan/v1"}\n'])
def test_nothing_is_added_to_a_result(result: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def print_and_fail(*_: object, **__: object) -> None:
        sys.stdout.write(result)
        raise ConfigError("example", "The key is wrong.", "password: hunter2\x1b[31m")

    stdout = io.StringIO()
    monkeypatch.setattr(error_handler, "known_secrets", ["hunter2"])
    monkeypatch.setattr("sys.stdout", GuardedStream(stdout))
    monkeypatch.setattr("gpustack.cli.option_groups.Session.make_plan", print_and_fail)
    run("plan", "-o", "json")
    assert (
        stdout.getvalue() == result if result else json.loads(stdout.getvalue())["reasons"][1] == "password: REDACTED"
    )
