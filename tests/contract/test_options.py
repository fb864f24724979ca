"""The options of commands are known to `cli` alone: other packages name them in a Command, which quotes its words."""

import ast
import re
from collections.abc import Iterator

from tests.contract.sources import PRODUCT, ROOT

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
COMMANDS = {"Command", "build_command", "extend"}
OF_OTHERS = {"--ask-become-pass", "--check", "--diff", "--namespace", "--timeout", "--version"}
"""Options that gpustack passes on to kubectl and Ansible, or shows of other programs."""
EXEMPT = {
    "ask": "texts for programs on hosts, and patterns of secrets in their command lines",
    "probes": "scripts for hosts",
    "remedy/commands.py": "it adapts commands that stand in the catalogue",
    "report/renderings.py": "it names the commands that have each result",
}


def list_options() -> set[str]:
    surface = (ROOT / "docs" / "surface.txt").read_text(encoding="utf-8")
    return set(re.findall(r"^option .* (--\S+)$", surface, re.MULTILINE)) - OF_OTHERS


def find_sentences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and text of the strings that people may read: all but docstrings, and words of a command."""
    skipped_nodes = {
        id(node)
        for parent in ast.walk(tree)
        if isinstance(parent, ast.Expr) or (isinstance(parent, ast.Call) and name_function(parent) in COMMANDS)
        for node in ast.walk(parent)
        if not isinstance(parent, ast.Expr) or node is parent.value
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped_nodes:
            yield node.lineno, node.value


def name_function(call: ast.Call) -> str:
    function = call.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def is_exempt(name: str) -> bool:
    return name.startswith("cli/") or any(name == entry or name.startswith(f"{entry}/") for entry in EXEMPT)


def test_only_cli_and_commands_name_options() -> None:
    options = list_options()
    assert "--fail-if" in options
    wrong = [
        f"{name}:{line} {sorted(named_options)}"
        for path in sorted(PRODUCT.rglob("*.py"))
        if not is_exempt(name := str(path.relative_to(PRODUCT)))
        for line, text in find_sentences(ast.parse(path.read_text(encoding="utf-8")))
        if " " in text  # a single word is an argument of a program
        if (named_options := options & set(OPTION.findall(text)))
    ]
    assert wrong == [], "raise an error without a hint, and give it one in cli/error_handler.py"


def test_each_exemption_is_needed() -> None:
    assert all((PRODUCT / entry).exists() for entry in EXEMPT)
