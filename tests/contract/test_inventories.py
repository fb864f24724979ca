"""Commands to type name their hosts, in documents, help, pages and hints."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.cli.error_handler import report_errors
from gpustack.command import Command, Prose, add_inventory, join_hints, name_inventory
from gpustack.doctor.graph import load_graph
from gpustack.report.explain.pages import read_error_pages
from tests import documents
from tests.contract.test_help import ALL_COMMANDS, TREE

RECORDING = TREE / "examples" / "recordings" / "gpu-fell-off-bus.jsonl"


def list_lines() -> Iterator[tuple[str, str]]:
    """List the command lines that readers copy, with where they are."""
    for document in documents.DOCUMENTS:
        for line in documents.list_commands(document):
            yield str(document.relative_to(TREE)), line
    for words, command in ALL_COMMANDS.items():
        for line in (command.epilog or "").splitlines():
            yield " ".join(("gpustack", *words, "--help")), line


def test_each_command_that_readers_copy_names_its_hosts() -> None:
    lines = [(place, line) for place, line in list_lines() if line.startswith("gpustack ")]
    assert len(lines) > 250
    assert [(place, line) for place, line in lines if add_inventory(line, "mycluster") != line] == []


def test_each_command_in_prose_that_changes_chosen_hosts_names_them() -> None:
    """A command without options in prose is the name of a command, and nothing to copy."""
    texts = [
        (document.name, text)
        for document in documents.DOCUMENTS
        if document.name != "CHANGELOG.md" and "decisions" not in document.parts
        for text in re.findall(r"(?<!`)`(gpustack (?:install|reset) --[^`\n]*)`(?!`)", document.read_text())
        if add_inventory(text, "mycluster") != text
    ]
    assert texts == []


@pytest.mark.parametrize("words", [words for words in ALL_COMMANDS if not hasattr(ALL_COMMANDS[words], "commands")])
def test_hints_name_the_inventory_of_each_command_that_takes_one(words: tuple[str, ...]) -> None:
    options = {name for parameter in ALL_COMMANDS[words].params for name in parameter.opts}
    takes_inventory = "-i" in options and "--inventory" in options
    line = shlex.join(("gpustack", *words))
    assert add_inventory(line, "mycluster") == (f"{line} -i mycluster" if takes_inventory else line)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gpustack install --only x", "gpustack install -i two --only x"),
        ("gpustack doctor -i one --fix x", "gpustack doctor -i one --fix x"),
        ("gpustack plan; gpustack gpu top pods", "gpustack plan -i two; gpustack gpu top -i two pods"),
        ("gpustack plan --from F; then: gpustack verify", "gpustack plan --from F; then: gpustack verify -i two"),
        ("gpustack install    # as gpustack plan shows", "gpustack install -i two    # as gpustack plan shows"),
        ("gpustack explain plan", "gpustack explain plan"),
        ("gpustack profile analyze run1.json", "gpustack profile analyze run1.json"),
        ("gpustack profile record --out run1.json", "gpustack profile record -i two --out run1.json"),
        ("gpustack install, after the cause is removed", "gpustack install -i two, after the cause is removed"),
        ("what gpustack installed", "what gpustack installed"),
    ],
)
def test_a_line_names_the_inventory_once(line: str, expected: str) -> None:
    assert add_inventory(line, "two") == expected
    assert add_inventory(line, "") == line


def test_a_hint_keeps_its_note_and_quotes_the_inventory() -> None:
    hint = name_inventory(Command("gpustack", "plan", note="shows it"), "my cluster")
    assert hint == "gpustack plan -i 'my cluster'    # shows it"
    hints = join_hints(Command("gpustack", "plan"), Prose("see {}", "x"))
    assert name_inventory(hints, "two") == "gpustack plan -i two; see x"


def run_with_errors(*words: str) -> str:
    """Run a command as the program does, and return its standard error."""

    def run() -> None:
        with report_errors():
            app(list(words))

    stderr = io.StringIO()
    with contextlib.redirect_stderr(stderr), pytest.raises(SystemExit):
        run()
    return stderr.getvalue()


def test_the_hint_of_an_error_names_the_inventory_that_was_typed(tmp_path: Path) -> None:
    assert "do:    gpustack doctor -i INVENTORY --fix\n" in run_with_errors("doctor", "--from", str(RECORDING), "--fix")
    text = run_with_errors("doctor", "-i", str(tmp_path), "swap")
    assert f"do:    gpustack doctor -i {tmp_path} --fix swap\n" in text
    assert "do:    gpustack doctor --fix swap\n" in run_with_errors("doctor", "swap")


def test_hints_of_a_recording_do_not_name_the_inventory_of_the_machine_that_wrote_it() -> None:
    output = CliRunner().invoke(app, ["doctor", "--from", str(RECORDING)], env={"COLUMNS": "200"}).stdout
    assert "-i INVENTORY" in output
    assert "-i inventory" not in output


def test_pages_show_commands_with_an_inventory() -> None:
    output = CliRunner().invoke(app, ["explain", "apt-locked"]).stdout
    assert "  gpustack install -i INVENTORY\n" in output
    page_lines = [line for page in read_error_pages().values() for line in page.do.splitlines()]
    fault_lines = [line for fault in load_graph().faults.values() for line in fault.fix.commands]
    assert len([line for line in [*page_lines, *fault_lines] if add_inventory(line, "INVENTORY") != line]) > 100
