"""docs/openapi.json: what it says is what is answered. That it is the one of the code, test_schemas.py checks."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gpustack.serve.openapi import render_openapi
from gpustack.serve.refusal import Refusal, render_problem
from gpustack.serve.routes import respond
from tests.schemas import close_schema
from tests.worlds.prometheus.moments import make_moment, make_served_series

DOCUMENT: Any = json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text())
SCHEMAS = DOCUMENT["components"]["schemas"]
MOMENT = make_moment(make_served_series())
WORDS = {"uuid": "GPU-gpu2-1", "namespace": "team-b", "pod": "train-0", "measure": "power"}
OPERATIONS = {path: operations["get"] for path, operations in DOCUMENT["paths"].items()}


def build_validator(operation: Any, status: str) -> Draft202012Validator:
    (content,) = operation["responses"][status]["content"].values()
    return Draft202012Validator(close_schema({**content["schema"], "components": DOCUMENT["components"]}))


def list_references(value: Any) -> set[str]:
    if isinstance(value, list):
        return {reference for element in value for reference in list_references(element)}
    if not isinstance(value, dict):
        return set()
    own_references = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
    return own_references | {reference for element in value.values() for reference in list_references(element)}


def test_its_parts_fit() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    assert set(DOCUMENT) == {"openapi", "info", "paths", "components"}
    names = {reference.removeprefix("#/components/schemas/") for reference in list_references(DOCUMENT)}
    assert names <= set(SCHEMAS)
    assert len({operation["operationId"] for operation in OPERATIONS.values()}) == len(OPERATIONS)
    for path, operations in DOCUMENT["paths"].items():
        assert list(operations) == ["get"]
        places = {(parameter["in"], parameter["name"]) for parameter in operations["get"].get("parameters", ())}
        assert {name for place, name in places if place == "path"} == set(re.findall(r"{(\w+)}", path))
        assert all(answer["description"] for answer in operations["get"]["responses"].values())


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_answer_has_a_schema_that_requires_all_of_it(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert sorted(SCHEMAS[name]["required"]) == sorted(SCHEMAS[name]["properties"])


@pytest.mark.parametrize("path", OPERATIONS)
def test_answers_have_their_schema(path: str) -> None:
    target = re.sub(r"{(\w+)}", lambda match: WORDS[match[1]], path)
    answer = json.loads(respond(target, lambda: MOMENT, render_openapi))
    assert list(build_validator(OPERATIONS[path], "200").iter_errors(answer)) == []


@pytest.mark.parametrize("path", [path for path in OPERATIONS if path.startswith("/v1/")])
def test_refusals_have_theirs(path: str) -> None:
    target = re.sub(r"{(\w+)}", lambda match: WORDS[match[1]], path)
    with pytest.raises(Refusal) as excinfo:
        respond(f"{target}?no=1", lambda: MOMENT, render_openapi)
    document = json.loads(render_problem(excinfo.value))
    assert list(build_validator(OPERATIONS[path], str(document["status"])).iter_errors(document)) == []


def test_a_value_alone_is_never_null() -> None:
    assert SCHEMAS["Measurement"]["properties"]["value"]["type"] == "number"
