"""Options and arguments are validated before a host, a server or a file is read, and named where they are wrong."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
from typer.main import get_command
from typer.testing import CliRunner

from gpustack.cli import session
from gpustack.cli.app import app
from gpustack.errors import UsageError

URL = ("--prometheus", "http://127.0.0.1:9")
REFUSALS = {
    "capacity report --month 2026-13": ("'--month': ", "a year and a month"),
    "capacity report --month 26-1": ("'--month': ", "a year and a month"),
    "capacity report --since -1d": ("'--since': ", "1h to 3y in whole hours"),
    "capacity report --since 5m": ("'--since': ", "1h to 3y in whole hours"),
    "capacity report --since 90m": ("'--since': ", "1h to 3y in whole hours"),
    "capacity report --month 2026-10 --since 7d": ("--month and --since are mutually exclusive",),
    "capacity report --by ,": ("--by is empty",),
    "cost report --month 2026-10 --since 7d": ("--month and --since are mutually exclusive",),
    "capacity forecast --reserve inf": ("--reserve: ", "inf; allowed: finite numbers"),
    "capacity forecast --reserve nan": ("Invalid value for '--reserve'",),
    "capacity forecast --nodes [": ("'--nodes': ", "a regular expression"),
    "capacity forecast --nodes (?!gpu).+": ("'--nodes': ", "RE2, which has no '(?!'"),
    "capacity forecast --nodes (n)1\\1": ("'--nodes': ", "RE2, which has no"),
    "capacity forecast --history 99999999d": ("'--history': ", "1d to 3y in whole days"),
    "capacity forecast --horizon 0d": ("'--horizon': ", "1d to 3y in whole days"),
    "capacity forecast --lead-time 36h": ("'--lead-time': ", "1d to 3y in whole days"),
    "gpu top --every inf": ("'--every': ", "'inf'; allowed: 1s to 1h"),
    "gpu list --prometheus ftp://x": ("ftp://x is no address of a server.",),
    "gpu list --prometheus http://": ("http:// is no address of a server.",),
    "gpu check-exporter ftp://x": ("ftp://x is no address of a server.",),
    "gpu profiling pause --for 2d": ("'--for': ", "1s to 1d"),
    "gpu policy watch --for 0s": ("'--for': ", "1s to 1d"),
    "gpu policy set --ecc --for 31d": ("'--for': ", "1s to 30d"),
    "gpu config set --ecc --for 31d": ("'--for': ", "1s to 30d"),
    "gpu config set --clocks a,b": ("'--clocks': ", "MEMORY,SM in MHz"),
    "gpu stats start train --keep 0s": ("'--keep': ", "1m to 1y"),
    "gpu burn --for 2h": ("'--for': ", "1m to 1h"),
    "trust kube1 --fingerprint x": ("'--fingerprint': ", "SHA256:"),
    "snapshot --out /nonexistent/x": ("/nonexistent/x cannot be written.",),
    "doctor --metrics /nonexistent/x": ("/nonexistent/x was not written.",),
    "profile record --pod t/p --out /nonexistent/x": ("/nonexistent/x cannot be written.",),
    "profile analyze --pod t/p --baseline /nonexistent/x": ("/nonexistent/x cannot be read.",),
}


@pytest.fixture(autouse=True)
def nothing_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a host, a server or an inventory was asked")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "open_inventory", refuse)
    monkeypatch.setattr(urllib3.PoolManager, "request", refuse)


def run(*words: str) -> tuple[int, str]:
    """Run a command, and return its status with all that it says."""
    result = CliRunner().invoke(app, words, env={"COLUMNS": "400"})
    error = result.exception
    message = f"{error.message} {error.reason}" if isinstance(error, UsageError) else ""
    return error.code if isinstance(error, UsageError) else result.exit_code, f"{result.output}{message}"


@pytest.mark.parametrize("line", REFUSALS)
def test_wrong_values_are_refused_before_anything_is_asked(line: str) -> None:
    source = URL if line.startswith(("capacity", "cost", "profile record", "profile analyze", "gpu top")) else ()
    code, output = run(*line.split(), *source)
    assert code == 2, output
    assert [text for text in REFUSALS[line] if text not in output] == [], output


def list_commands(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        yield words, command
    for name, subcommand in getattr(command, "commands", {}).items():
        if not subcommand.hidden:
            yield from list_commands(subcommand, *words, name)


def accepts_text(parameter: Any) -> bool:
    return parameter.type_descriptor.annotation in (str, Path, list[str], list[Path])


COMMANDS = dict(list_commands(get_command(app)))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_text_may_be_empty(words: tuple[str, ...]) -> None:
    parameters = COMMANDS[words].params
    for parameter in filter(accepts_text, parameters):
        is_argument = parameter.param_type_name == "argument"
        arguments = [
            "" if candidate is parameter else "x"
            for candidate in parameters
            if candidate.param_type_name == "argument" and (candidate.required or is_argument)
        ]
        options = [] if is_argument else [parameter.opts[0], ""]
        required_words = [
            word
            for candidate in parameters
            if candidate.required and candidate.param_type_name == "option" and candidate.name != parameter.name
            for word in (candidate.opts[0], "t/p")
        ]
        code, output = run(*words, *required_words, *options, *arguments)
        assert code == 2
        assert "is empty" in output or "Invalid value" in output, output


def test_every_time_has_limits() -> None:
    times = [
        (words, parameter.opts[0])
        for words, command in COMMANDS.items()
        for parameter in command.params
        if parameter.metavar == "TIME"
    ]
    assert len(times) > 10
    arguments_by_word = {
        "stats": ["x"],
        "record": ["--out", "x"],
        "baseline": ["--out", "x"],
        "suggest": ["--pod", "t/p"],
    }
    for words, option in times:
        for text in ("0s", "9999y", "soon"):
            code, output = run(
                *words, *(word for name in words for word in arguments_by_word.get(name, [])), option, text
            )
            assert (code, f"Invalid value for '{option}': {text!r}; allowed: " in output) == (2, True), output
