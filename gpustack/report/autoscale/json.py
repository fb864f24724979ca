"""A suggestion as one JSON document. A field is only ever added within a version."""

from typing import Any, Literal

from pydantic import Field

from gpustack.autoscale.manifest import Draft, scaled_object
from gpustack.config.inventory import Inventory
from gpustack.profile.classes import Id
from gpustack.report.codes import SUGGESTED, suggestion_code
from gpustack.report.document import document, ending
from gpustack.report.schema import Document, Shape, TextOrNull


class WorkloadShape(Shape):
    """What is scaled; `replicas` as they should be now, null where that is not known."""

    namespace: str
    kind: Literal["Deployment", "StatefulSet"]
    name: str
    replicas: int | None


class SuggestionDocument(Document):
    """Result of `gpustack autoscale suggest`. `metric` and all after it are null where none suits; `why` says the
    reason either way, `doubts` what speaks against it. `now` and `target` are in the unit of the metric, of one
    replica; `manifest` is a ScaledObject of KEDA."""

    kind: Literal["gpustack/autoscale-suggestion/v1"] = Field("gpustack/autoscale-suggestion/v1", alias="schema")
    workload: WorkloadShape
    verdict: Id
    why: list[str]
    doubts: list[str]
    metric: TextOrNull
    query: TextOrNull
    target: float | None
    now: float | None
    manifest: dict[str, Any] | None


def text(found: Draft, *, inventory: Inventory | None = None) -> str:
    suggestion = found.suggestion
    values = {**vars(suggestion), "exit": ending(suggestion_code(suggestion), SUGGESTED), "manifest": None}
    if suggestion.metric:
        values["manifest"] = scaled_object(found)
    else:
        values |= {"target": None, "now": None}
    return document(SuggestionDocument, values, inventory)
