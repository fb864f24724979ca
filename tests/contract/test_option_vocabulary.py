"""Options share one vocabulary over the whole tree of commands: durations have units, and --out names the file that a
command writes."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from gpustack.cli.options import parse_duration
from gpustack.config.spec import Spec
from tests.contract.test_help import ALL_COMMANDS

TIMES = {
    "--boot-timeout", "--every", "--for", "--history", "--horizon", "--keep", "--lead-time", "--since", "--timeout",
    "--wait-for-jobs",
}  # fmt: skip
UNITS = re.compile(r"\b(?:seconds|minutes|hours|days)\b", re.IGNORECASE)
BESIDE_THE_RESULT = {"--metrics": "findings", "--record": "queries and answers"}
"""Options of files that a command writes beside its result, with what they hold."""


def list_options() -> Iterator[tuple[str, Any]]:
    for words, command in ALL_COMMANDS.items():
        for option in command.params:
            if option.param_type_name == "option":
                yield " ".join(words), option


OPTIONS = list(list_options())


def test_each_option_about_time_takes_a_duration() -> None:
    """The metavar TIME stands for what `require_time` accepts."""
    bare_numbers = [
        (command, option.opts[-1])
        for command, option in OPTIONS
        if not option.is_flag
        and (TIMES & set(option.opts) or UNITS.search(option.help or ""))
        and option.metavar != "TIME"
    ]
    assert bare_numbers == []
    assert {option.opts[-1] for _, option in OPTIONS if option.metavar == "TIME"} == TIMES


def test_each_default_of_a_duration_has_its_unit() -> None:
    defaults = [option.default for _, option in OPTIONS if option.metavar == "TIME" and option.default]
    assert len(defaults) > 10
    assert [text for text in defaults if not text[-1].isalpha() or parse_duration(text) <= 0] == []


def test_each_file_that_a_command_writes_is_named_by_out() -> None:
    output_options = {
        (option.opts[-1], tuple(option.opts))
        for _, option in OPTIONS
        if option.metavar == "FILE" and re.match(r"Write\b", option.help or "")
    }
    assert output_options == {("--out", ("--out",)), *((name, (name,)) for name in BESIDE_THE_RESULT)}
    for _, option in OPTIONS:
        if option.opts[-1] in BESIDE_THE_RESULT:
            assert BESIDE_THE_RESULT[option.opts[-1]] in option.help


def test_each_command_that_writes_a_file_has_force() -> None:
    """Scripts run `doctor --metrics` again and again: its file is rewritten."""
    writers = {command for command, option in OPTIONS if {"--out", "--record"} & set(option.opts)}
    assert writers - {command for command, option in OPTIONS if "--force" in option.opts} == set()


def test_f_is_no_option() -> None:
    """Others read it as an input (kubectl, Ansible) or as force."""
    assert [command for command, option in OPTIONS if {"-f", "--file"} & set(option.opts)] == []


@pytest.mark.parametrize(("value", "seconds"), [(300, 300), ("300", 300), ("5m", 300), ("1h30m", 5400)])
def test_a_setting_about_time_takes_a_duration_and_a_number_of_seconds(value: object, seconds: int) -> None:
    assert Spec.model_validate({"apt_lock_wait": value}).apt_lock_wait == seconds


@pytest.mark.parametrize("value", ["soon", "-5m", "", [1]])
def test_a_setting_about_time_refuses_other_values(value: object) -> None:
    with pytest.raises(ValueError, match="apt_lock_wait"):
        Spec.model_validate({"apt_lock_wait": value})
