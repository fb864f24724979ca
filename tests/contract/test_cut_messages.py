"""A text of a program is cut by one function alone, because its end names the cause."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from gpustack.ask.script import format_command
from tests.worlds.snapshots.answers import list_all_probes

PACKAGE = Path(import_module("gpustack").__path__[0])
LONG = 100
"""The fewest characters of a cut that may lose a sentence. Shorter ones quote a word that is no answer."""
# What is cut there is no message, or its beginning alone is wanted.
EXEMPT = {
    "report/document.py": "an answer, which the document marks as cut",
    "report/doctor/html.py": "an answer, and what is read of it",
    "report/snapshot_listing.py": "what is read of an answer for a listing",
    "metrics/exposition.py": "the bytes of a page that is no exposition",
    "metrics/prometheus.py": "the bytes of a page that is no answer of Prometheus",
    "profile/file.py": "the place of a version in a file",
    "engines/change.py": "a line of logger(1), which keeps no more",
    "probes/kubernetes/names.py": "a name of a user, which is too long",
    "report/doctor/metrics.py": "a list of series",
    "probes/network/addresses.py": "the name of a unit",
    "ask/transport/channel.py": "a piece of what is sent",
    "bundle/serve.py": "the log of a server of this machine",
}
SHELL_CUT = re.compile(r"\bcut -c|\bhead -c ?[0-9]{3}|substr\([^(),]*(?:\([^()]*\))?[^(),]*, *1, *[0-9]{3,}\)")


def find_cuts(path: Path) -> Iterator[str]:
    """Find the slices of a module that keep the first LONG characters or more, or the last."""
    tree = ast.parse(path.read_text())
    sizes = {name: value for name, value in read_constants(tree) if value >= LONG}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Slice):
            continue
        limits = (node.upper,) if node.lower is None else (node.lower,) if node.upper is None else ()
        for limit in limits:
            size = limit.operand if isinstance(limit, ast.UnaryOp) else limit
            is_constant = isinstance(size, ast.Constant) and isinstance(size.value, int) and size.value >= LONG
            if is_constant or (isinstance(size, ast.Name) and size.id in sizes):
                yield f"line {node.lineno}: {ast.unparse(node)}"


def read_constants(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        target, values = node.targets[0], node.value
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        parts = values.elts if isinstance(values, ast.Tuple) else [values]
        for name, part in zip(names, parts, strict=False):
            if isinstance(name, ast.Name) and isinstance(part, ast.Constant) and isinstance(part.value, int):
                yield name.id, part.value


def test_no_module_cuts_a_message() -> None:
    cuts = {
        str(path.relative_to(PACKAGE)): slices
        for path in sorted(PACKAGE.rglob("*.py"))
        if not str(path.relative_to(PACKAGE)).startswith(tuple(EXEMPT)) and (slices := list(find_cuts(path)))
    }
    assert cuts == {}


def test_an_exempt_module_cuts_a_text() -> None:
    for name in EXEMPT:
        paths = [PACKAGE / name] if name.endswith(".py") else sorted((PACKAGE / name).rglob("*.py"))
        assert any(list(find_cuts(path)) for path in paths), name


def test_no_probe_cuts_a_message() -> None:
    cuts = {probe.id: words for probe in list_all_probes() if (words := SHELL_CUT.findall(format_command(probe)))}
    assert cuts == {}


@pytest.mark.parametrize(
    "text",
    ["x[:300]", "x[:MOST]", "x[-2000:]", "y = str(x['message'])[:MOST]"],
)
def test_a_cut_is_found(tmp_path: Path, text: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(f"MOST = 600\n{text}\n")
    assert list(find_cuts(path))


@pytest.mark.parametrize("script", ["cut -c 1-400", "cut -c1-600", "awk '{print substr($0, 1, 500)}'", "head -c 300"])
def test_a_cut_of_a_script_is_found(script: str) -> None:
    assert SHELL_CUT.search(script)
