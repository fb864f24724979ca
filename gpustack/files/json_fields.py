"""Names, types and meanings of all fields of JSON documents: json-fields.csv beside this module.

A row without documents is shared: the name has this type and meaning in every document. A row with documents is domain
data of these. docs/json.md and the descriptions in docs/schemas and docs/openapi.json are made from the table.
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("json-fields.csv")


@dataclass(frozen=True)
class JsonField:
    """Describe a field. `type` is in the words of docs/json.md, such as `string or null`. `documents` are names of
    files in docs/schemas without their suffix, or `openapi`."""

    documents: tuple[str, ...]
    name: str
    type: str
    unit: str
    meaning: str


@cache
def load_json_fields() -> tuple[JsonField, ...]:
    rows = list(csv.reader(TABLE.read_text(encoding="utf-8").splitlines()))[1:]
    return tuple(JsonField(tuple(documents.split()), *texts) for documents, *texts in rows)


def map_json_fields(document: str) -> dict[str, JsonField]:
    """Map the names that a document may use to their fields."""
    return {field.name: field for field in load_json_fields() if not field.documents or document in field.documents}


def describe_properties(schema: Any, document: str) -> Any:
    """Add the meaning of each property to a JSON Schema. A description that a property already has stays."""
    return add_descriptions(schema, map_json_fields(document))


def add_descriptions(schema: Any, json_fields: dict[str, JsonField]) -> Any:
    if isinstance(schema, list):
        return [add_descriptions(element, json_fields) for element in schema]
    if not isinstance(schema, dict):
        return schema
    described_schema = {key: add_descriptions(value, json_fields) for key, value in schema.items()}
    properties = described_schema.get("properties")
    if not isinstance(properties, dict):
        return described_schema
    described_properties = {name: describe_property(entry, json_fields.get(name)) for name, entry in properties.items()}
    return described_schema | {"properties": described_properties}


def describe_property(entry: dict[str, Any], json_field: JsonField | None) -> dict[str, Any]:
    if json_field is None or "description" in entry:
        return entry
    unit = f" Unit: {json_field.unit}." if json_field.unit else ""
    return {"description": f"{json_field.meaning}{unit}", **entry}
