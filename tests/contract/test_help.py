"""Help is printed in whole lines at 80 and at 120 columns, with commands in groups and examples that can be typed."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer import Exit
from typer._click.exceptions import ClickException
from typer.main import get_command
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.cli.help import SHORT
from gpustack.cli.root import DIAGNOSE, LAB, OPERATE, SETUP
from tests import documents

ROOT = get_command(app)
TREE = Path(__file__).parents[2]
ESCAPE = "\x1b"


def list_commands(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name, subcommand in getattr(command, "commands", {}).items():
        yield from list_commands(subcommand, *words, name)


ALL_COMMANDS = dict(list_commands(ROOT))
every_command = pytest.mark.parametrize("words", ALL_COMMANDS, ids=" ".join)


def show_help(words: tuple[str, ...], columns: int) -> list[str]:
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": str(columns), "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def check_words(line: str) -> None:
    """Parse words as the command line does. Raise for a command, an option or a number of arguments that there is
    not."""
    words = shlex.split(re.split(r" (?:[12]?>|\||&&)", re.sub(r"\$\(.*\)", "OUTPUT", line))[0], comments=True)
    assert words[0] == "gpustack"
    command: Any = ROOT
    rest = words[1:]
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
    assert rest in (["--version"], ["--show-completion"]) or not hasattr(command, "commands"), line
    if rest == ["--show-completion"]:
        return
    with suppress(Exit):
        command.make_context("gpustack", rest)


@pytest.mark.parametrize("columns", [80, 120])
@every_command
def test_no_line_is_cut(words: tuple[str, ...], columns: int) -> None:
    lines = show_help(words, columns)
    assert [line for line in lines if len(line) > columns or ESCAPE in line] == []
    assert "[[" not in "".join(lines)
    for name, subcommand in getattr(ALL_COMMANDS[words], "commands", {}).items():
        short = subcommand.get_short_help_str(SHORT)
        assert 0 < len(short) <= SHORT
        assert short.endswith(".")
        assert not short.endswith("...")
        assert [line for line in lines if re.fullmatch(rf"  {name} +{re.escape(short)}", line)]


@every_command
def test_help_fits_a_narrow_terminal(words: tuple[str, ...]) -> None:
    """Words and commands to copy are never broken, and may be longer than a line."""
    lines = [line for line in show_help(words, 40) if not line.startswith("  gpustack ")]
    long_lines = [line for line in lines if len(line) > 40]
    assert [line for line in long_lines if len(line.split()) > (3 if re.match(r"  \S", line) else 1)] == []
    assert [line for line in lines if line != line.rstrip() and not line.startswith("Usage:")] == []


def test_every_command_is_in_a_group() -> None:
    lines = show_help((), 80)
    headings = [line[:-1] for line in lines if re.fullmatch(r"[A-Z].*:", line)]
    assert headings == ["Options", SETUP, OPERATE, DIAGNOSE, LAB, "Examples"]


@every_command
def test_every_command_has_examples_that_can_be_typed(words: tuple[str, ...]) -> None:
    lines = show_help(words, 80)
    examples = [line.strip() for line in lines[lines.index("Examples:") + 1 :]]
    assert examples
    for example in examples:
        check_words(example)
    assert any(example.startswith(" ".join(("gpustack", *words))) for example in examples)


@pytest.mark.parametrize("line", ["gpustack nothing", "gpustack plan --nothing", "gpustack plan gpu1", "gpustack lab"])
def test_what_cannot_be_typed_is_found(line: str) -> None:
    with pytest.raises((ClickException, AssertionError)):
        check_words(line)


@pytest.mark.parametrize("document", documents.DOCUMENTS, ids=lambda path: str(path.relative_to(TREE)))
def test_commands_of_documents_can_be_typed(document: Path) -> None:
    """`check_words` raises for a command or option that there is not."""
    for line in documents.list_commands(document):
        if line.startswith("gpustack "):
            check_words(line)


def test_no_command_of_a_document_is_in_a_block_of_another_kind() -> None:
    """Commands are read in blocks of shell alone."""
    hidden_options = [
        (document.name, line)
        for document in documents.DOCUMENTS
        for language, body in documents.list_blocks(document.read_text())
        if language not in documents.SHELLS
        for line in re.findall(r"(?m)^ *(?:\$ )?gpustack .*", body)
    ]
    assert hidden_options == []


def test_commands_are_found_in_documents(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(
        "a\n```bash\ngpustack plan  # why\n# alone\ngpustack gpu \\\n    list\n```\n`gpustack no`\n```\nother\n```\n"
        "- b\n  ```console\n  $ gpustack verify\n  ok\n  ```\n```json\n{}\n```\n"
    )
    assert documents.list_commands(path) == ["gpustack plan", "gpustack gpu list", "gpustack verify"]
