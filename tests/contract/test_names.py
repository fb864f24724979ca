"""Names are the standard words, so that one search finds a thing: the others are listed here."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack.doctor.catalogue import layers
from gpustack.doctor.checks import CHECKS
from gpustack.steps import STEPS

ROOT = Path(__file__).parents[2]
PRODUCT = ROOT / "gpustack"
ROOMS = sorted({"/".join(path.relative_to(ROOT).parts[:2]) for path in PRODUCT.rglob("*.py")})
ROOMS += sorted(f"tests/{path.name}" for path in (ROOT / "tests").iterdir() if any(path.rglob("*.py")))
WORDS = {
    "told", "said", "heard", "seen", "mouth", "ear", "ground", "lots", "spots", "wheres", "lately", "ahead", "alike",
    "strangers", "mend", "mended", "untold", "heal",
}  # fmt: skip
SPLIT = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])")


def words(name: str) -> set[str]:
    return {word.lower() for word in SPLIT.split(name)} & WORDS


def identifiers(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=str(name)) | ast.keyword(arg=str(name)):
                yield name
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield from (name, other or "")


@pytest.mark.parametrize("room", ROOMS)
def test_identifiers_are_standard_words(room: str) -> None:
    allowed = {"heal"} if room == "gpustack/lab" else set()
    found = Counter(
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted(ROOT.glob(room) if room.endswith(".py") else (ROOT / room).rglob("*.py"))
        for name in identifiers(path.read_text())
        if words(name) - allowed
    )
    assert found == {}


def test_labels_are_standard_words() -> None:
    references = re.findall(r'Error\(\s*"([a-z0-9-]+)"', "".join(p.read_text() for p in PRODUCT.rglob("*.py")))
    options = re.findall(r'"(--[a-z-]+)"', "".join(p.read_text() for p in (PRODUCT / "cli").rglob("*.py")))
    keys = re.findall(
        r"(?m)^ *(?:- )?([a-z_]+):", "".join(p.read_text() for p in PRODUCT.glob("doctor/catalogue/*.yaml"))
    )
    probes = [path.name for path in (ROOT / "tests" / "cases").iterdir()]
    ids = [*(check.id for check in CHECKS), *(step.id for step in STEPS)]
    ids += [fault.id for layer in layers() for fault in layer.faults]
    ids += [state.id for layer in layers() for state in layer.states]
    kinds = (references, options, keys, probes, ids)
    assert all(kinds)
    found = Counter(label for kind in kinds for label in kind if words(label))
    assert found == {}
