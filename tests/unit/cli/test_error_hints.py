"""An error says what to do where a command does it: a raise has a hint, or its reference has a row of HINTS."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.cli.error_handler import HINTS
from gpustack.errors import GpustackError
from gpustack.report.explain.pages import read_error_pages

SOURCES = Path(__file__).parents[3] / "gpustack"
WITHOUT_COMMAND = {
    "choice-empty",  # the page of the command is shown
    "lock-unreached",  # what the command would do is asked for, host by host
    "node-control-plane",  # the only command removes the cluster
    "node-not-dead",
    "output-unwritable",
    "profile-exporter",
    "remediation-refused",  # each refusal has its own command
    "reset-distribution",
}


def list_bare_raises() -> Iterator[str]:
    """List the references of errors that are raised without a hint."""
    pages = read_error_pages()
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            reference = str(getattr(node.args[0], "value", ""))
            has_hint = len(node.args) > 3 or any(keyword.arg == "hint" for keyword in node.keywords)
            if node.func.id.endswith("Error") and node.func.id != "InputError" and reference in pages and not has_hint:
                yield reference


def test_an_error_whose_page_begins_with_a_command_of_ours_has_a_hint() -> None:
    pages = read_error_pages()
    references = {name for name in list_bare_raises() if pages[name].do.startswith("gpustack ")}
    assert references - HINTS.keys() - WITHOUT_COMMAND == set()
    assert {"unknown-host"} <= references, "the search finds some"


def test_a_row_is_of_a_known_error() -> None:
    assert HINTS.keys() - read_error_pages().keys() == set()


@pytest.mark.parametrize(
    ("words", "reference", "hint"),
    [
        ("gpu list --prometheus http://127.0.0.1:1", "prometheus-unreachable", "curl -sS -m 10 http://127.0.0.1:1"),
        ("gpu health --prometheus http://127.0.0.1:1", "prometheus-unreachable", "curl -sS -m 10 http://127.0.0.1:1"),
    ],
)
def test_a_silent_prometheus_is_asked_by_hand(words: str, reference: str, hint: str) -> None:
    error = CliRunner().invoke(app, words.split()).exception
    assert isinstance(error, GpustackError)
    assert (error.reference, error.hint) == (reference, hint)
