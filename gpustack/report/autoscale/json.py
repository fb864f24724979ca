"""A suggestion as one JSON document. Within a version fields are only ever added."""

from typing import Any, Literal

from pydantic import Field

from gpustack.autoscale.manifest import Draft, build_scaled_object
from gpustack.config.inventory import Inventory
from gpustack.profile.class_ids import Id
from gpustack.report.document import render_json_document
from gpustack.report.renderings import SUGGESTION
from gpustack.report.schema import Document, Shape, TextOrNull, take


class WorkloadShape(Shape):
    """Describe the workload that is scaled."""

    namespace: str
    kind: Literal["Deployment", "StatefulSet"]
    name: str
    replicas: int | None


class SuggestionDocument(Document):
    """Describe the result of `gpustack autoscale suggest`. `metric` and all fields after it are null where no metric
    suits."""

    kind: Literal["gpustack/autoscale-suggestion/v1"] = Field("gpustack/autoscale-suggestion/v1", alias="schema")
    workload: WorkloadShape
    verdict: Id
    reasons: list[str]
    warnings: list[str] = take("doubts")
    metric: TextOrNull
    query: TextOrNull
    target_value: float | None = take("target")
    current_value: float | None
    manifest: dict[str, Any] | None


def render_json(draft: Draft, *, inventory: Inventory | None = None) -> str:
    suggestion = draft.suggestion
    values = {**vars(suggestion), "exit": SUGGESTION.build_exit(suggestion.exit_status), "manifest": None}
    if suggestion.metric:
        values["manifest"] = build_scaled_object(draft)
    else:
        values |= {"target": None, "current_value": None}
    return render_json_document(SuggestionDocument, values, inventory)
