"""The base of all sections of the cluster spec: frozen, without unknown keys, and null counts as unset."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def drop_null(cls, settings: Any) -> Any:
        """Drop a known key without a value (`kubelet:`), so that its default counts."""
        if not isinstance(settings, Mapping):
            return settings
        known_keys = {word for name, field in cls.model_fields.items() for word in (name, field.alias)}
        return {key: value for key, value in settings.items() if value is not None or key not in known_keys}
