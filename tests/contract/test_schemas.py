"""docs/schemas: what scripts may rely on is what is printed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.schemas import close_schema

ROOT = Path(__file__).parents[2]
SCHEMAS: dict[str, Any] = {}
for file in sorted((ROOT / "docs" / "schemas").glob("*.json")):
    document = json.loads(file.read_text())
    SCHEMAS[document["properties"]["schema"]["const"]] = document
DOCUMENTS = {path.name: json.loads(path.read_text()) for path in sorted((ROOT / "tests" / "golden").glob("*.json"))}


def test_schemas_are_as_the_code_has_them() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "schemas"), "--check"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 0, f"{process.stderr}run `scripts/schemas` and read what changed"


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_has_a_golden_document_and_a_row_in_the_docs(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert name in {document["schema"] for document in DOCUMENTS.values()}
    row = f"| `{name}` | [{name.split('/')[1]}.json](schemas/{name.split('/')[1]}.json) |"
    assert row in (ROOT / "docs" / "exit-codes.md").read_text()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_golden_documents_are_valid(name: str) -> None:
    document = DOCUMENTS[name]
    assert list(Draft202012Validator(close_schema(SCHEMAS[document["schema"]])).iter_errors(document)) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_without_a_field_is_not_valid(name: str) -> None:
    document = DOCUMENTS[name]
    valid = Draft202012Validator(SCHEMAS[document["schema"]]).is_valid
    assert valid(document | {"of_a_later_release": 1})
    assert [field for field in document if valid({key: document[key] for key in document if key != field})] == []
