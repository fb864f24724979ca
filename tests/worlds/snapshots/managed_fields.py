"""fieldsV1 as the API server writes it."""

import json
from typing import Any

# x-kubernetes-map-type of the API's types.
ATOMIC = ("selector", "requiredDuringSchedulingIgnoredDuringExecution", "fieldRef")


def build_owned_fields(applied_object: dict[str, Any]) -> dict[str, Any]:
    """Build the fields of a client that applied an object as a whole."""
    metadata = {part: applied_object["metadata"][part] for part in ("labels", "annotations")}
    rest = {key: value for key, value in applied_object.items() if key not in ("apiVersion", "kind", "metadata")}
    return build_fields({"metadata": metadata, **rest})


def build_fields(value: Any, name: str = "") -> dict[str, Any]:
    """Build the fields of lists by the keys that the API's types name, those of some maps as a whole."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        keys = {"ports": ("containerPort", "port", "protocol"), "volumeMounts": ("mountPath",)}.get(name, ("name",))
        if all(keys[0] in entry or keys[-1] in entry for entry in value):
            fields_by_name = {}
            for entry in value:
                key = {word: entry[word] for word in sorted(keys) if word in entry}
                fields_by_name[f"k:{json.dumps(key)}"] = {".": {}, **build_fields(entry)}
            return fields_by_name
        return {}
    if not isinstance(value, dict) or name in ATOMIC:
        return {}
    return {f"f:{key}": build_fields(inner, key) for key, inner in value.items()}
