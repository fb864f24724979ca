"""Whether a document of `-o json` has the shape that is published for it."""

import json
from typing import Any

from jsonschema import Draft202012Validator
from pydantic import BaseModel


def check_shape(shape: type[BaseModel], text: str) -> None:
    """Raises ValidationError for another one, also for a field more."""
    Draft202012Validator(closed(shape.model_json_schema(mode="serialization"))).validate(json.loads(text))


def closed(schema: Any) -> Any:
    """The schema without room for fields that it does not name, which readers of a document have to allow."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(one) for key, one in schema.items()}
    return found | {"additionalProperties": False} if isinstance(found.get("properties"), dict) else found
