"""The table of JSON fields: every property of every document is in it, with its type, and each has a description."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpustack.files.json_fields import JsonField, describe_properties, load_json_fields
from gpustack.gpus.identity import GpuIdentity

DOCS = Path(__file__).parents[2] / "docs"
OPENAPI = "openapi"
DOCUMENTS: dict[str, Any] = {path.stem: json.loads(path.read_text()) for path in sorted(DOCS.glob("schemas/*.json"))}
DOCUMENTS[OPENAPI] = json.loads((DOCS / "openapi.json").read_text())
MAX_DOMAIN_SHARE = 0.4
MAPS = {
    "basis": "fields beside it that have a value",
    "cost_by_day": "days",
    "missing_fields": "models of GPUs",
    "remaining_traces": "steps",
    "traces": "steps",
    "versions": "nodes",
    "manifest": "fields of a Kubernetes object",
}
"""Objects without named properties, and what their keys are: names that no code knows, or that have a meaning of their
own in the table. All other keys are properties of a shape, with a type and a unit in the table."""
TIME_NAMES = {"begin", "end"}
TIME_ENDINGS = ("_at", "_since")


def list_properties(document: Any, node: Any = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """List the properties of a JSON Schema or an OpenAPI document by name, as often as they occur."""
    node = document if node is None else node
    if isinstance(node, list):
        for element in node:
            yield from list_properties(document, element)
    if not isinstance(node, dict):
        return
    if isinstance(node.get("properties"), dict):
        yield from node["properties"].items()
    for key, value in node.items():
        yield from list_properties(document, list(value.values()) if key == "properties" else value)


def is_free_map(schema: dict[str, Any]) -> bool:
    options = [schema, *schema.get("anyOf", ())]
    return any(option.get("type") == "object" and option.get("additionalProperties") for option in options)


def list_property_names(document: Any) -> Iterator[set[str]]:
    """List the names of the properties of each object in a schema."""
    nodes = [*document.values()] if isinstance(document, dict) else document if isinstance(document, list) else []
    if isinstance(document, dict) and isinstance(document.get("properties"), dict):
        yield set(document["properties"])
    for node in nodes:
        yield from list_property_names(node)


def format_type(schema: dict[str, Any], document: Any) -> str:
    """Format the type of a property in the words of the table."""
    if "anyOf" in schema:
        (entry,) = [option for option in schema["anyOf"] if option.get("type") != "null"]
        return f"{format_type(entry, document)} or null"
    if "$ref" in schema:
        target = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return format_type(target, document)
    if schema["type"] == "array":
        elements = format_type(schema["items"], document).removesuffix(" or null")
        return f"array of {elements}s"
    return "time" if schema.get("format") == "date-time" else str(schema["type"])


def list_complaints(documents: dict[str, Any], fields: tuple[JsonField, ...]) -> Iterator[str]:
    used_places: set[tuple[tuple[str, ...], str]] = set()
    pairs: dict[tuple[str, str], bool] = {}
    for name, document in documents.items():
        table = {field.name: field for field in fields if not field.documents or name in field.documents}
        for property_name, schema in list_properties(document):
            place = f"{name}: {property_name}"
            if not schema.get("description"):
                yield f"{place} has no description"
            if is_free_map(schema) and property_name not in MAPS:
                yield f"{place} is an object without named properties"
            kind = format_type(schema, document)
            if (kind.removesuffix(" or null") == "time") != is_time_name(property_name):
                yield f"{place} is named as a time, or not as one, but is {kind}"
            field = table.get(property_name)
            if field is None:
                yield f"{place} is not in the table"
                continue
            used_places.add((field.documents, field.name))
            pairs[name, property_name] = bool(field.documents)
            expected = {field.type} if not field.documents else {field.type, field.type.removesuffix(" or null")}
            if kind not in expected:
                yield f"{place} is {kind}, the table says {field.type}"
    yield from (
        f"{field.name} is in the table and nowhere else" for field in fields if select_key(field) not in used_places
    )
    counts = Counter(name for _, name in pairs)
    yield from (f"{field.name} is shared by one document" for field in fields if is_lonely(field, counts))
    yield from list_double_names(fields)
    if sum(pairs.values()) > MAX_DOMAIN_SHARE * len(pairs):
        yield f"{sum(pairs.values())} of {len(pairs)} properties are domain data"


def list_double_names(fields: tuple[JsonField, ...]) -> Iterator[str]:
    types: dict[str, str] = {}
    shared_names = {field.name for field in fields if not field.documents}
    for field in fields:
        kind = field.type.removesuffix(" or null")
        if types.setdefault(field.name, kind) != kind:
            yield f"{field.name} is {kind} and {types[field.name]}"
        if field.documents and field.name in shared_names:
            yield f"{field.name} is shared and domain data"


def is_lonely(field: JsonField, counts: Counter[str]) -> bool:
    return not field.documents and counts[field.name] == 1


def is_time_name(name: str) -> bool:
    return name in TIME_NAMES or name.endswith(TIME_ENDINGS)


def select_key(field: JsonField) -> tuple[tuple[str, ...], str]:
    return field.documents, field.name


def test_properties_are_those_of_the_table() -> None:
    assert list(list_complaints(DOCUMENTS, load_json_fields())) == []


def test_gpus_have_the_same_keys_in_every_document() -> None:
    keys = {
        name: [names for names in list_property_names(document) if "uuid" in names]
        for name, document in DOCUMENTS.items()
    }
    assert {name for name, gpus in keys.items() if gpus} == {
        "gpus",
        "gpu-activity",
        "gpu-burn",
        "gpu-health",
        "proof",
        OPENAPI,
    }
    assert [name for name, gpus in keys.items() for gpu in gpus if not gpu >= set(GpuIdentity.model_fields)] == []


def change_property(document: str, name: str, schema: dict[str, Any]) -> Callable[[], tuple[Any, Any]]:
    def build() -> tuple[Any, Any]:
        documents = deepcopy(DOCUMENTS)
        documents[document]["properties"][name] = schema
        return documents, load_json_fields()

    return build


def change_fields(change: Callable[[JsonField], JsonField]) -> Callable[[], tuple[Any, Any]]:
    return lambda: (DOCUMENTS, tuple(map(change, load_json_fields())))


def make_domain(field: JsonField) -> JsonField:
    return replace(field, documents=tuple(DOCUMENTS)) if field.type.startswith("string") else field


TEXT = {"type": "string", "description": "A text."}
UNKNOWN_TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "A text or null."}
EXTRA = JsonField((), "why", "string", "", "Reason.")
CASES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "undo: why is not in the table": change_property("undo", "why", TEXT),
    "undo: units is not in the table": change_property("undo", "units", TEXT | {"type": "number"}),
    "undo: seconds is string, the table says number": change_property("undo", "seconds", TEXT),
    "undo: id is string or null, the table says string": change_property("undo", "id", UNKNOWN_TEXT),
    "plan: next is string, the table says string or null": change_property("plan", "next", TEXT),
    "cost: currency is string or null, the table says string": change_property("cost", "currency", UNKNOWN_TEXT),
    "undo: id has no description": change_property("undo", "id", {"type": "string"}),
    "plan: started_at is named as a time, or not as one, but is string": change_property("plan", "started_at", TEXT),
    "undo: id is named as a time, or not as one, but is time": change_property(
        "undo", "id", TEXT | {"format": "date-time"}
    ),
    "undo: id is an object without named properties": change_property(
        "undo", "id", TEXT | {"type": "object", "additionalProperties": {"type": "number"}}
    ),
    "why is in the table and nowhere else": lambda: (DOCUMENTS, (*load_json_fields(), EXTRA)),
    "query is shared by one document": change_fields(
        lambda field: replace(field, documents=()) if field.name == "query" else field
    ),
    "seconds is shared and domain data": lambda: (
        DOCUMENTS,
        (*load_json_fields(), JsonField(("undo",), "seconds", "number", "", "Duration.")),
    ),
    "noise is string and number": lambda: (
        DOCUMENTS,
        (*load_json_fields(), JsonField(("undo",), "noise", "string", "", "Noise.")),
    ),
    "properties are domain data": change_fields(make_domain),
}


@pytest.mark.parametrize("complaint", CASES)
def test_each_rule_refuses_what_it_forbids(complaint: str) -> None:
    documents, fields = CASES[complaint]()
    assert [text for text in list_complaints(documents, fields) if text.endswith(complaint)]


def test_meanings_are_texts_that_end() -> None:
    assert [field.name for field in load_json_fields() if not field.meaning.endswith(".")] == []
    names = [(document, field.name) for field in load_json_fields() for document in field.documents or ("",)]
    assert sorted(set(names)) == sorted(names)


def test_fields_of_a_kind_stand_in_the_order_of_their_names() -> None:
    groups: dict[tuple[str, ...], list[str]] = {}
    for field in load_json_fields():
        groups.setdefault(field.documents, []).append(field.name)
    assert groups == {documents: sorted(names) for documents, names in groups.items()}


def test_a_description_of_the_shape_stays() -> None:
    schema = {"properties": {"seconds": {"type": "number", "description": "own"}, "id": {"type": "string"}}}
    properties = describe_properties(schema, "undo")["properties"]
    assert properties["seconds"]["description"] == "own"
    assert properties["id"]["description"] == "Id of a fault, a symptom, a kind of state, a class of load or a fix."
