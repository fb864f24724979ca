"""The OpenAPI document (https://spec.openapis.org/oas/v3.1.0.html), built from the routes and the models of their
answers."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from gpustack.files.json_fields import describe_properties
from gpustack.files.json_text import dump_json
from gpustack.serve.measures import MEASURES
from gpustack.serve.models import Health, Model, Problem
from gpustack.serve.refusal import CONTENT_TYPE
from gpustack.serve.routes import HEALTH, OPENAPI, PARAMETERS, ROUTES, Route

MODE: Literal["serialization"] = "serialization"
REF = "#/components/schemas/"
# Paths that ask Prometheus have these; the connection itself may be refused with others.
REFUSAL_RESPONSES = {
    "400": "The query has a parameter that the path does not take, or cannot be decoded.",
    "404": "There is no such path, GPU, pod or value; the reason says which, and why.",
    "503": "Prometheus does not answer, or too many requests are made at once; the reason says which.",
}


class SchemaGenerator(GenerateJsonSchema):
    """Generate schemas without the titles of fields, which repeat their names, and without defaults, since a
    document has every field."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> Any:
        return self.generate_inner(schema["schema"])


@cache
def render_openapi() -> str:
    models: list[type[Model]] = [*dict.fromkeys(route.model for route in ROUTES), Health, Problem]
    _, schemas = models_json_schema(
        [(model, MODE) for model in models], ref_template=f"{REF}{{model}}", schema_generator=SchemaGenerator
    )
    description = (
        "What GPUs and their pods do, from Prometheus. Read-only. A value that is not there is never a number."
    )
    document = {
        "openapi": "3.1.0",
        "info": {"title": "gpustack serve", "version": "1", "description": description},
        "paths": {
            **{route.path: {"get": build_operation(route)} for route in ROUTES},
            HEALTH: {"get": build_plain_operation("health", "Says that the process answers.", build_reference(Health))},
            OPENAPI: {"get": build_plain_operation("openapi", "This document.", {"type": "object"})},
        },
        "components": {"schemas": describe_properties(schemas["$defs"], "openapi")},
    }
    return dump_json(unwrap_texts(document), indent=2, ensure_ascii=False) + "\n"


def build_operation(route: Route) -> dict[str, Any]:
    names = re.findall(r"{(\w+)}", route.path)
    parameters = [build_parameter("path", name, PARAMETERS[name]) for name in names]
    parameters += [build_parameter("query", name, description) for name, description in route.query.items()]
    base_operation = build_plain_operation(route.answer.__name__, route.summary, build_reference(route.model))
    refusals = {
        status: build_response(summary, CONTENT_TYPE, build_reference(Problem))
        for status, summary in REFUSAL_RESPONSES.items()
    }
    return base_operation | {"parameters": parameters, "responses": base_operation["responses"] | refusals}


def build_plain_operation(name: str, summary: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": build_response("The answer.", "application/json", schema)},
    }


def build_response(description: str, content: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {content: {"schema": schema}}}


def build_parameter(place: str, name: str, description: str) -> dict[str, Any]:
    schema = {"type": "string"} | ({"enum": list(MEASURES)} if name == "measure" else {})
    return {"name": name, "in": place, "required": place == "path", "description": description, "schema": schema}


def build_reference(model: type[Model]) -> dict[str, str]:
    return {"$ref": f"{REF}{model.__name__}"}


def unwrap_texts(document: Any) -> Any:
    """Put each description on one line."""
    if isinstance(document, dict):
        return {key: unwrap_texts(entry) for key, entry in document.items()}
    if isinstance(document, list):
        return [unwrap_texts(element) for element in document]
    return " ".join(document.split()) if isinstance(document, str) else document
