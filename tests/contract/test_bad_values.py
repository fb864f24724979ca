"""Errors about values are in the words of this product, with the value, what is allowed and the nearest name: no text
of pydantic or Python, and no number of the operating system, reaches users."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError
from typer._click.exceptions import ClickException
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.cli.wrong_command import OTHER_NAMES
from gpustack.config.complaint import find_nearest, suggest_nearest
from gpustack.config.pydantic_errors import BOUNDS, ERROR_RULES, describe_kind
from gpustack.errors import GpustackError, describe_os_error
from gpustack.metrics.web import Access, Web
from tests.contract.sources import PRODUCT
from tests.contract.test_help import ALL_COMMANDS, check_words

FOREIGN = re.compile(r"Input should|Value error|Field required|Errno|unable to parse|isoformat|pydantic|is not one of")
HEALTHY = Path(__file__).parents[1] / "snapshots" / "healthy.jsonl"


def list_messages(command: Any, value: str) -> Iterator[str]:
    """List the messages about each option of a command that does not take the value."""
    for option in command.params:
        if getattr(option, "is_flag", False) or not option.opts[0].startswith("-"):
            continue
        try:
            command.make_context("gpustack", [option.opts[-1], value])
        except ClickException as error:
            yield error.format_message()
        except GpustackError as error:
            yield f"{error} {error.reason}"


@pytest.mark.parametrize("words", ALL_COMMANDS, ids=" ".join)
def test_a_bad_value_of_an_option_is_described_in_words_of_ours(words: tuple[str, ...]) -> None:
    messages = [text for value in ("x", "-1", "0", "9" * 30) for text in list_messages(ALL_COMMANDS[words], value)]
    assert [text for text in messages if FOREIGN.search(text)] == []


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("plan -o jsn", "'jsn'; allowed: human, json, junit.\nwhy:   Did you mean json?\n"),
        ("access --port x grafana", "'x'; allowed: a whole number"),
        ("gpu top --every 0", "'0'; allowed: 1s to 1h"),
        ("gpu top --sort sms", "Did you mean sm?"),
        ("capacity report --prometheus http://127.0.0.1:1 --by nodes", "Did you mean node?"),
        ("access grafan", "Did you mean grafana?"),
        ("uninstall", "No such command 'uninstall'.\nwhy:   Did you mean gpustack reset?\n"),
        ("unistall", "Did you mean gpustack reset?"),
        ("intsall", "Did you mean gpustack install?"),
        ("plan --limt x", "No such option: --limt.\nwhy:   Did you mean --limit?\ndo:    gpustack plan --help\n"),
        ("--hlep", "No such option: --hlep.\nwhy:   Did you mean --help?\ndo:    gpustack --help\n"),
        ("plan docs", "No such argument: docs.\nwhy:   Did you mean -i docs?\n"),
        ("plan -i docs docs", "No such argument: docs.\ndo:"),
        ("plan nosuch", "No such argument: nosuch.\ndo:"),
        ("version docs x", "No such argument: docs x.\ndo:"),
        ("access", "Missing argument 'PART'; allowed: grafana, prometheus, alertmanager, exporter\ndo:"),
        ("completion bash", "Did you mean gpustack --show-completion?"),
        ("get nodes", "Did you mean gpustack status?"),
        (
            "serve --listen 9460",
            "Invalid value for '--listen': '9460'; allowed: ADDRESS:PORT, such as 127",
        ),
        (
            "cost report --budget a",
            "Invalid value for '--budget': 'a'; allowed: NAMESPACE=AMOUNT, such as team",
        ),
        ("profile analyze --pod a", "Invalid value for '--pod': 'a'; allowed: NAMESPACE/POD\n"),
        ("undo", "Did you mean gpustack doctor --undo?"),
        ("gpu profiling unpause", "No such command 'unpause'.\n"),
        ("upgrade", "Did you mean gpustack explain upgrade-needed?"),
        ("gpu lst", "Did you mean gpustack gpu list?"),
        ("-i two plan", "No such option: -i. Options of a command are behind it: gpustack plan -i two"),
        ("-i lab plan -v", "Options of a command are behind it: gpustack plan -i lab -v"),
        ("gpu -i two stats -q show x", "Options of a command are behind it: gpustack gpu stats show -i two -q x"),
        (f"plan --from {HEALTHY} --only prereq", "Did you mean prereqs?"),
        (f"plan --from {HEALTHY} --limit hst1", "Did you mean host1?"),
        (f"doctor --from {HEALTHY} --limit hst1", "Did you mean host1?"),
        (f"doctor --from {HEALTHY} --only gpu-fell-of-bus", "Did you mean gpu-fell-off-bus?"),
        ("profile analyze --pod a/b --threshold drm=1 --prometheus http://127.0.0.1:1", "Did you mean dram?"),
        ("explain GpuLots", "gpustack explain GpuLost"),
        ("profile analyze /none", "why:   No such file or directory\n"),
    ],
)
def test_a_bad_word_is_answered_with_the_right_one(line: str, text: str) -> None:
    result = CliRunner().invoke(app, line.split(), env={"COLUMNS": "300"})
    output = result.output
    if isinstance(result.exception, GpustackError):
        output = f"why:   {result.exception.reason}\n{result.exception.hint}"
    assert text in output


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (int, "x", "a whole number"),
        (int, "9" * 5000, "a whole number of at most 4300 digits"),
        (float, "x", "a number"),
        (bool, "x", "true or false"),
        (list[int], 1, "a list such as [first, second]"),
        (dict[str, int], 1, "a mapping"),
        (Annotated[int, Field(ge=1)], 0, "1 or more"),
        (Annotated[float, Field(lt=1)], 2, "less than 1"),
        (Annotated[str, Field(min_length=2)], "a", "at least 2 characters"),
    ],
)
def test_each_kind_of_pydantic_has_words_of_ours(kind: Any, value: object, expected: str) -> None:
    with pytest.raises(ValidationError) as excinfo:
        TypeAdapter(kind).validate_python(value)
    assert describe_kind(excinfo.value.errors()[0]) == expected
    assert excinfo.value.errors()[0]["type"] in {*ERROR_RULES, *BOUNDS}


def test_an_error_of_the_system_is_its_words_alone() -> None:
    assert describe_os_error(FileNotFoundError(2, "No such file or directory", "/none")) == "No such file or directory"
    assert describe_os_error(ValueError("its own")) == "its own"
    with pytest.raises(GpustackError) as excinfo:
        Web(Access("http://127.0.0.1:1")).ask("http://127.0.0.1:1/api")
    assert excinfo.value.reason == "Connection refused"


def test_names_are_near_in_any_case_and_with_any_dash() -> None:
    assert find_nearest("gpu_fell-of-bus", ["gpu-fell-off-bus", "gpu-lost"]) == "gpu-fell-off-bus"
    assert find_nearest("GPULOS", ["GpuLost"]) == "GpuLost"
    assert find_nearest("x", ["GpuLost"]) == suggest_nearest(["x"], ["GpuLost"]) == ""


@pytest.mark.parametrize(
    ("line", "full_line"), [("help", "--help"), ("help plan", "plan --help"), ("gpu help top", "gpu top -h")]
)
def test_help_is_shown_without_dashes(line: str, full_line: str) -> None:
    result = CliRunner().invoke(app, line.split())
    assert (result.exit_code, result.stdout) == (0, CliRunner().invoke(app, full_line.split()).stdout)


def test_each_other_name_stands_for_a_command_and_is_none() -> None:
    for word, line in OTHER_NAMES.items():
        check_words(f"gpustack {line}")
        assert (word,) not in ALL_COMMANDS


def test_options_that_exclude_each_other_are_called_so_in_one_phrase() -> None:
    sources = [path.read_text() for path in (PRODUCT / "cli").rglob("*.py")]
    assert [text for text in sources if re.search(r"--[a-z-]+ (?:excludes|does not go with)", text)] == []
    assert len([text for text in sources if "mutually exclusive" in text]) > 4
