"""Documents of `-o json` are compared with the shape that is published for them."""

import json
from typing import Any

from jsonschema import Draft202012Validator
from pydantic import BaseModel


def check_shape(shape: type[BaseModel], text: str) -> None:
    """Raise ValidationError for another shape, also for a field more."""
    Draft202012Validator(close_schema(shape.model_json_schema(mode="serialization"))).validate(json.loads(text))


def close_schema(schema: Any) -> Any:
    """Close a schema to fields that it does not name, which readers of a document have to allow."""
    if isinstance(schema, list):
        return [close_schema(element) for element in schema]
    if not isinstance(schema, dict):
        return schema
    properties = {key: close_schema(subschema) for key, subschema in schema.items()}
    return (
        properties | {"additionalProperties": False} if isinstance(properties.get("properties"), dict) else properties
    )
