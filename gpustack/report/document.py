"""Results for programs: one document per run, with the shapes of gpustack/report/schema.py."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpustack.files.json_text import dump_json
from gpustack.report.codes import MEANINGS
from gpustack.report.format import Clean, cleaner
from gpustack.report.schema import Document, Evidence
from gpustack.report.terminal import escaped

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory

KEPT = 4000
EVIDENCE = Evidence.model_fields.keys()


def document(shape: type[Document], values: Mapping[str, Any], inventory: "Inventory | None") -> str:
    """What every JSON document passes: no string of it has a secret or an escape left."""
    shown = cleaned(shape.model_validate(values).model_dump(by_alias=True), cleaner(inventory))
    return escaped(dump_json(shown, indent=2, ensure_ascii=False)) + "\n"


def cleaned(value: Any, clean: Clean) -> Any:
    """Times are rounded to milliseconds. Evidence is cut afterwards: half a secret is not known as one."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [cleaned(one, clean) for one in value]
    if isinstance(value, float):
        return round(value, 3)
    if not isinstance(value, dict):
        return value
    found = {key: cleaned(one, clean) for key, one in value.items()}
    return shortened(found) if found.keys() == EVIDENCE else found


def shortened(evidence: dict[str, Any]) -> dict[str, Any]:
    long = len(evidence["out"]) > KEPT or len(evidence["err"]) > KEPT
    return evidence | {"out": evidence["out"][:KEPT], "err": evidence["err"][:KEPT], "cut": evidence["cut"] or long}


def ending(code: int, meanings: Mapping[int, str] = MEANINGS) -> dict[str, Any]:
    return {"code": code, "meaning": meanings[code]}
