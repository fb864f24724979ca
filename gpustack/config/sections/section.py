"""What all sections of the cluster spec are: frozen, no unknown key, and nothing behind a key says nothing."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def drop_null(cls, given: Any) -> Any:
        """A known key with nothing behind it (`kubelet:`) says nothing: its default counts."""
        if not isinstance(given, Mapping):
            return given
        known = {word for name, field in cls.model_fields.items() for word in (name, field.alias)}
        return {key: value for key, value in given.items() if value is not None or key not in known}
