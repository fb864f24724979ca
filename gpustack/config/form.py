"""The form of a text in the spec: a pattern for programs, and words with an example for people."""

import re
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema


@dataclass(frozen=True)
class Form:
    """Annotate a text that the pattern has to match as a whole. An error has the words and the example instead of the
    pattern, which editors find in the JSON Schema."""

    pattern: str
    words: str
    example: str

    def validate(self, text: str) -> str:
        if not re.fullmatch(self.pattern, text):
            raise ValueError(f"{self.words}, such as {self.example}")
        return text

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.validate, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), "pattern": f"^({self.pattern})$"}
