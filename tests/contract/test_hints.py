"""Hints name commands of gpustack that exist, with their options."""

import ast
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.errors import UsageError
from tests.contract.test_commands import list_calls, name_call

ROOT = get_command(app)
FIRST_WORDS = {"Command": 0, "build_command": 1}
"""The position of the first word in the calls that build a command. `build_command` adds `gpustack` itself."""


def list_words() -> Iterator[tuple[str, list[str | None]]]:
    """List the words of all hints, with their place in the source. A word that is not a text of the source is None."""
    for path, call in list_calls("Command", "build_command", "Prose"):
        function = name_call(call)
        place = f"{path}:{call.lineno}"
        if function == "Prose":
            for text in (node.value for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant)):
                yield place, [None if word.strip("{}") == "" else word for word in str(text).split()]
            continue
        words = [read_word(word) for word in call.args[FIRST_WORDS[function] :]]
        yield place, words if function == "Command" else ["gpustack", *words]


def read_word(node: ast.expr) -> str | None:
    return str(node.value) if isinstance(node, ast.Constant) else None


def find_mistake(words: Sequence[str | None]) -> str:
    """Find a command or option that does not exist in the words of a command of gpustack."""
    command: Any = ROOT
    remaining_words = list(words[1:])
    while remaining_words and hasattr(command, "commands"):
        word = remaining_words[0]
        if word is None:
            return ""  # It is known only when the program runs.
        if word.startswith("-"):
            break
        if word not in command.commands:
            return f"no command {word!r}"
        command = command.commands[remaining_words.pop(0)]
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    for word in remaining_words:
        if word and word.startswith("-") and word.partition("=")[0] not in {*options, "-h", "--help"}:
            return f"no option {word!r}"
    return ""


def test_hints_name_commands_and_options_that_exist() -> None:
    commands = [(place, words) for place, words in list_words() if words[:1] == ["gpustack"] and "did" not in words]
    assert len(commands) > 100
    assert [f"{place}: {mistake}" for place, words in commands if (mistake := find_mistake(words))] == []


@pytest.mark.parametrize("words", [["nothing"], ["plan", "--nothing"], ["gpu", "nothing", "--help"], ["doctor", "-"]])
def test_a_hint_of_a_missing_command_is_found(words: list[str]) -> None:
    assert find_mistake(["gpustack", *words])


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--from", "F", "--fix"], "gpustack doctor --fix"),
        (["--from", "F", "--watch"], "gpustack doctor --watch"),
        (["--watch", "--fix"], "gpustack doctor --help"),
        (["--fix", "--undo"], "gpustack doctor --help"),
        (["swap"], "gpustack doctor --fix swap"),
        (["--yes-to", "swap"], "gpustack doctor --fix"),
        (["--fix", "-o", "junit"], "gpustack doctor --help"),
        (["--yes"], "gpustack doctor --fix --yes"),
        (["--this-host"], "gpustack doctor --help"),
    ],
    ids=str,
)
def test_options_of_doctor_that_exclude_each_other_name_the_command(words: list[str], hint: str) -> None:
    error = CliRunner().invoke(app, ["doctor", *words]).exception
    assert isinstance(error, UsageError)
    assert str(error.hint) == hint
