"""JSON is written and parsed by gpustack/files/json_text.py alone: no NaN goes out, and none comes in."""

import ast
from collections.abc import Iterator

import pytest
from pydantic import TypeAdapter

from gpustack.profile.file import ADAPTER, Profile
from gpustack.profile.window import Job
from tests.contract.sources import PRODUCT

# Ansible's list has all variables of the operator, also those that are .inf; the spec has none. The lab reads and
# writes what is its own, and gpustack_logs, which is copied into images of others, refuses NaN itself.
EXCEPTIONS = {"files/json_text.py", "config/ansible/inventory_listing.py"}
WORDS = {"dumps", "dump", "loads", "load"}


def find_json(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="json"), attr=name) if name in WORDS:
                yield name
            case ast.ImportFrom(module="json", names=names):
                yield from (alias.name for alias in names if alias.name in WORDS)


def test_json_stands_in_one_place() -> None:
    files = {str(path.relative_to(PRODUCT)): path for path in sorted(PRODUCT.rglob("*.py"))}
    assert {name for name, path in files.items() if set(find_json(path.read_text()))} == EXCEPTIONS


@pytest.mark.parametrize("source", ["json.dumps({})", "json.load(file)", "from json import loads"])
def test_uses_of_json_are_found(source: str) -> None:
    assert list(find_json(source))


def test_pydantic_writes_no_number_that_json_does_not_know() -> None:
    """The default of pydantic is null; a setting of `constants` would write NaN."""
    odd = Profile("s", "", "", float("nan"), float("inf"), Job(()))
    assert b'"begin":null,"end":null' in ADAPTER.dump_json(odd)
    assert TypeAdapter(float).dump_json(float("-inf")) == b"null"
    assert [path for path in PRODUCT.rglob("*.py") if "ser_json_inf_nan" in path.read_text()] == []
