"""Results for programs: one document per run, with the shapes of gpustack/report/schema.py."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpustack.exit_status import ExitStatus
from gpustack.files.json_text import dump_json
from gpustack.report.format import Clean, build_cleaner
from gpustack.report.rendering import Rendering
from gpustack.report.schema import Document, Evidence
from gpustack.report.terminal import escape_json

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory

MAX_OUTPUT = 4000
EVIDENCE_FIELDS = Evidence.model_fields.keys()


def render_json_document(shape: type[Document], values: object, inventory: "Inventory | None") -> str:
    """Render a mapping, or the attributes of an object, as a document of `shape`. Every JSON document passes here, so
    no string of it has a secret or an escape left."""
    content = clean_value(shape.model_validate(values).model_dump(by_alias=True), build_cleaner(inventory))
    return escape_json(dump_json(content, indent=2, ensure_ascii=False)) + "\n"


class Overlay:
    """Hold values as the attributes of an object, before its own."""

    def __init__(self, origin: object, values: Mapping[str, Any]) -> None:
        self._origin = origin
        vars(self).update(values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._origin, name)


def render_result(
    rendering: Rendering, shape: type[Document], result: object, inventory: "Inventory | None" = None, /, **values: Any
) -> str:
    """Render a result as a document of `shape`. Its fields are read from `values`, and else from the result. A result
    without an exit status is a listing, and ok."""
    status = getattr(result, "exit_status", ExitStatus.OK)
    return render_json_document(shape, Overlay(result, {"exit": rendering.build_exit(status)} | values), inventory)


def clean_value(value: Any, clean: Clean) -> Any:
    """Clean all strings of a value. Evidence is cut afterwards, since half a secret would not be recognized."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [clean_value(element, clean) for element in value]
    if not isinstance(value, dict):
        return value
    entries = {key: clean_value(entry, clean) for key, entry in value.items()}
    return shorten_evidence(entries) if entries.keys() == EVIDENCE_FIELDS else entries


def shorten_evidence(evidence: dict[str, Any]) -> dict[str, Any]:
    is_long = len(evidence["stdout"]) > MAX_OUTPUT or len(evidence["stderr"]) > MAX_OUTPUT
    return evidence | {
        "stdout": evidence["stdout"][:MAX_OUTPUT],
        "stderr": evidence["stderr"][:MAX_OUTPUT],
        "truncated": evidence["truncated"] or is_long,
    }
