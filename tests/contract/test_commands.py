"""Text to copy is made of words and of text that stands in the source: no way around gpustack/command.py."""

import ast
import inspect
import string
from collections.abc import Iterator
from functools import cache
from typing import Any, get_type_hints

import pytest

from gpustack.ask.judge import Result, expect
from gpustack.ask.snapshot import Reach
from gpustack.command import Command, Hint
from gpustack.doctor.finding import Commands
from gpustack.errors import GpustackError
from gpustack.remedy.offer import Offer
from gpustack.report.findings import print_command
from gpustack.rollout.next_command import build_command, suggest_after_install, suggest_after_plan
from gpustack.rollout.plan import PlaybookRun
from tests.contract.sources import list_sources

COMMAND_FILE = "command.py"
INTERPRETERS = {"sh", "bash", "eval", "python", "python3", "perl", "awk", "xargs", "env"}
WITH_NOTES = {"Command", "Prose", "extend", "join_hints", "build_reset_command", "build_keygen_command"}
NOT_TEXT = {"ask/type_check.py"}
"""A hint of a type, not of a person."""


@cache
def parse_sources() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text()) for name, path in list_sources().items()}


def list_calls(*names: str) -> Iterator[tuple[str, ast.Call]]:
    for path, tree in parse_sources().items():
        if path == COMMAND_FILE:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name_call(node) in names and not is_other_class(path, node):
                yield path, node


def name_call(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def is_other_class(path: str, node: ast.Call) -> bool:
    """Tell the transport's own Command, which a host runs, and list.extend, which takes no words, from a Command."""
    if name_call(node) == "extend":
        return not any(word.arg == "note" for word in node.keywords)
    imported_names = {
        alias.asname or alias.name
        for statement in ast.walk(parse_sources()[path])
        if isinstance(statement, ast.ImportFrom) and statement.module == "gpustack.command"
        for alias in statement.names
    }
    return name_call(node)[0].isupper() and name_call(node) not in imported_names


def is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return is_literal(node.body) and is_literal(node.orelse)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def find_places(calls: list[tuple[str, ast.Call]]) -> list[str]:
    return [f"{path}:{node.lineno}: {ast.unparse(node)[:120]}" for path, node in calls]


def test_prose_stands_in_the_source() -> None:
    calls = list(list_calls("Prose"))
    assert len(calls) > 60
    assert find_places([(path, node) for path, node in calls if not is_literal(node.args[0])]) == []


def test_values_in_prose_stand_outside_quotes() -> None:
    """A quoted value between quotes of the text would be outside of all quotes."""
    wrong = []
    for path, node in list_calls("Prose"):
        texts = [part.value for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant)]
        for text in texts if node.args[1:] else ():
            assert isinstance(text, str)
            fields = [name for _, name, spec, conversion in string.Formatter().parse(text) if name is not None]
            bare = set(fields) <= {""} and len(fields) == len(node.args[1:])
            if not bare or "'" in text or '"' in text or "\\" in text or "$" in text or text.count("`") % 2:
                wrong.append((path, node))
    assert find_places(wrong) == []


def test_notes_stand_in_the_source() -> None:
    calls = [
        (path, node) for path, node in list_calls(*WITH_NOTES) if any(word.arg == "note" for word in node.keywords)
    ]
    assert {name_call(node) for _, node in calls} == WITH_NOTES
    assert len(calls) > 30
    # A function that hands a note on takes a LiteralString.
    handed_on = {"steps/other_cluster.py", "ask/transport/ssh_options.py"}
    notes = [(path, node, word.value) for path, node in calls for word in node.keywords if word.arg == "note"]
    wrong = [(path, node) for path, node, value in notes if not is_literal(value) and path not in handed_on]
    assert find_places(wrong) == []


def test_words_of_commands_are_words() -> None:
    """Words of a command have no blanks, and no text is cut up at its blanks."""
    calls = list(list_calls("Command"))
    assert len(calls) > 150
    assert find_places([(path, node) for path, node in calls if any(map(is_text, node.args))]) == []


def is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.Starred):
        return any(name_call(call) in ("split", "splitlines") for call in ast.walk(node) if isinstance(call, ast.Call))
    if isinstance(node, ast.JoinedStr):
        constants = (part.value for part in node.values if isinstance(part, ast.Constant))
        return any(" " in str(value) for value in constants)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Mod)
    if isinstance(node, ast.Call) and name_call(node) == "join":
        separator = node.func.value if isinstance(node.func, ast.Attribute) else node
        return not isinstance(separator, ast.Constant) or not separator.value or " " in str(separator.value)
    return isinstance(node, ast.Call) and name_call(node) in ("format", "replace", "strip")


def test_no_command_of_an_interpreter_takes_words_of_others() -> None:
    wrong = []
    for path, node in list_calls("Command"):
        constants = {part.value for part in node.args if isinstance(part, ast.Constant)}
        if constants & INTERPRETERS and not all(isinstance(part, ast.Constant) for part in node.args):
            wrong.append((path, node))
    assert find_places(wrong) == []


def test_hints_are_made_in_one_module_and_templates_are_the_catalogue_s() -> None:
    assert find_places(list(list_calls("Hint"))) == []
    assert {path for path, _ in list_calls("Template")} == {"remedy/commands.py"}
    casts = [(path, node) for path, node in list_calls("cast") if "Hint" in ast.unparse(node)]
    assert find_places(casts) == []


def test_nothing_called_a_hint_is_a_plain_string() -> None:
    calls = []
    for path, tree in parse_sources().items():
        for node in ast.walk(tree):
            name, annotation = getattr(node, "arg", ""), getattr(node, "annotation", None)
            if isinstance(node, ast.AnnAssign):
                name = getattr(node.target, "id", "")
            if name in ("hint", "hints") and path not in NOT_TEXT and annotation is not None:
                calls.append((path, ast.unparse(annotation)))
    assert len(calls) > 8
    assert [(path, kind) for path, kind in calls if kind not in ("Hint", "TextOrNull")] == []


@pytest.mark.parametrize(
    ("place", "name", "kind"),
    [
        (GpustackError.__init__, "hint", Hint),
        (Result, "hint", Hint),
        (Result, "person", Hint),
        (expect, "hint", Hint),
        (Reach, "hint", Hint),
        (Offer, "commands", tuple[Hint, ...]),
        (Commands, "repairs", tuple[Hint, ...]),
        (Commands, "fix", Hint),
        (PlaybookRun, "command", Command),
        (print_command, "command", Hint),
        (build_command, "return", Command),
        (suggest_after_plan, "return", Hint),
        (suggest_after_install, "return", Hint),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_what_is_shown_to_be_typed_is_a_hint(place: Any, name: str, kind: Any) -> None:
    assert get_type_hints(place)[name] == kind


def test_a_hint_has_no_method_that_changes_it() -> None:
    """Methods of str make a plain str of a Hint, which mypy refuses in its place."""
    hint = Command("id")
    derived_texts = (hint + "x", hint.strip(), hint.replace("i", "x"), "".join([hint, "x"]))
    assert [type(text) for text in derived_texts] == [str] * len(derived_texts)
    assert not [name for name, _ in inspect.getmembers(Command, inspect.isfunction) if name.startswith("set")]
