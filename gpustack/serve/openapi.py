"""The OpenAPI document, from the routes and the models of their answers. https://spec.openapis.org/oas/v3.1.0.html"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from gpustack.files.json_text import dump_json
from gpustack.serve.measures import MEASURES
from gpustack.serve.models import Health, Model, Problem
from gpustack.serve.refusal import CONTENT_TYPE
from gpustack.serve.routes import HEALTH, OPENAPI, PARAMETERS, ROUTES, Route

MODE: Literal["serialization"] = "serialization"
REF = "#/components/schemas/"
# Of paths that ask Prometheus; the connection itself may be refused by others.
REFUSED = {
    "400": "The query has a parameter that the path does not take, or cannot be decoded.",
    "404": "There is no such path, GPU, pod or value; the reason says which, and why.",
    "503": "Prometheus does not answer, or too many requests are made at once; the reason says which.",
}


class Generator(GenerateJsonSchema):
    """Without the titles of fields, which repeat their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@cache
def openapi() -> str:
    models: list[type[Model]] = [*dict.fromkeys(route.model for route in ROUTES), Health, Problem]
    _, schemas = models_json_schema(
        [(model, MODE) for model in models], ref_template=f"{REF}{{model}}", schema_generator=Generator
    )
    about = "What GPUs and their pods do, from Prometheus. Read-only. A value that is not there is never a number."
    document = {
        "openapi": "3.1.0",
        "info": {"title": "gpustack serve", "version": "1", "description": about},
        "paths": {
            **{route.path: {"get": operation(route)} for route in ROUTES},
            HEALTH: {"get": plain_operation("health", "Whether the process answers.", schema_of(Health))},
            OPENAPI: {"get": plain_operation("openapi", "This document.", {"type": "object"})},
        },
        "components": {"schemas": schemas["$defs"]},
    }
    return dump_json(unwrap(document), indent=2, ensure_ascii=False) + "\n"


def operation(route: Route) -> dict[str, Any]:
    names = re.findall(r"{(\w+)}", route.path)
    parameters = [parameter("path", name, PARAMETERS[name]) for name in names]
    parameters += [parameter("query", name, about) for name, about in route.query.items()]
    found = plain_operation(route.answer.__name__, route.summary, schema_of(route.model))
    refused = {status: response(about, CONTENT_TYPE, schema_of(Problem)) for status, about in REFUSED.items()}
    return found | {"parameters": parameters, "responses": found["responses"] | refused}


def plain_operation(name: str, summary: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": response("The answer.", "application/json", schema)},
    }


def response(description: str, content: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {content: {"schema": schema}}}


def parameter(place: str, name: str, description: str) -> dict[str, Any]:
    schema = {"type": "string"} | ({"enum": list(MEASURES)} if name == "measure" else {})
    return {"name": name, "in": place, "required": place == "path", "description": description, "schema": schema}


def schema_of(model: type[Model]) -> dict[str, str]:
    return {"$ref": f"{REF}{model.__name__}"}


def unwrap(value: Any) -> Any:
    """Descriptions on one line each."""
    if isinstance(value, dict):
        return {key: unwrap(one) for key, one in value.items()}
    if isinstance(value, list):
        return [unwrap(one) for one in value]
    return " ".join(value.split()) if isinstance(value, str) else value
