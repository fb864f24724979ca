"""A verdict as one JSON document. Within a version fields are only ever added."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.profile.analysis import Analysis
from gpustack.profile.classes import Id
from gpustack.profile.classify import Confidence
from gpustack.profile.usual import Workload
from gpustack.report.document import render_json_document
from gpustack.report.renderings import ANALYSIS
from gpustack.report.schema import Document, Seconds, Shape, TextOrNull, take


class RuledOut(Shape):
    """Describe a class that was ruled out, and the condition that does not hold."""

    id: Id
    reason: TextOrNull


class StretchShape(Shape):
    """Describe a part of the time that differs from the others."""

    begin_seconds: Seconds = take("begin")
    seconds: Seconds
    verdict: Id = take("verdict", "id")
    confidence: Confidence = take("verdict", "confidence")
    means: dict[str, float]


class Outlier(Shape):
    """Describe a number outside of the usual range of a kind of work."""

    name: str
    value: float
    minimum: float
    maximum: float


class UsualShape(Shape):
    """Describe a kind of work, and which numbers are outside of its usual ranges."""

    name: str
    outliers: list[Outlier]


class IdleComparisonShape(Shape):
    """Describe a mean at work and that of an idle baseline."""

    name: str
    unit: TextOrNull
    idle_value: float = take("idle")
    value: float


class AnalysisDocument(Document):
    """Describe the result of `gpustack profile analyze`. `stretches` are present where there are several."""

    kind: Literal["gpustack/analysis/v1"] = Field("gpustack/analysis/v1", alias="schema")
    subject: TextOrNull
    label: TextOrNull
    gpu_names: list[str]
    seconds: Seconds
    sample_count: int
    stretch_count: int
    stretches: list[StretchShape]
    warm_up_seconds: Seconds
    unmeasured_quantities: list[str]
    verdict: Id = take("id")
    title: str
    confidence: Confidence
    reasons: list[str]
    support: list[str]
    objections: list[str]
    notes: list[str]
    advice: list[str]
    success_criterion: str
    second_verdict: Id | None = take("second")
    ruled_out: list[RuledOut]
    means: dict[str, float]
    workload_kind: Workload | None
    usual_ranges: list[UsualShape]
    idle_comparison: list[IdleComparisonShape]


def render_json(analysis: Analysis, *, inventory: Inventory | None = None) -> str:
    verdict, first = analysis.verdict, analysis.job.windows[0]
    values = {
        **vars(verdict),
        "exit": ANALYSIS.build_exit(analysis.exit_status),
        "subject": analysis.profile.subject,
        "label": analysis.profile.label,
        "gpu_names": [window.gpu.uuid or window.gpu.index for window in analysis.job.windows],
        "seconds": first.seconds,
        "sample_count": first.samples,
        "stretch_count": max(1, len(analysis.stretches)),
        "stretches": [{**vars(stretch), "means": dict(stretch.verdict.means)} for stretch in analysis.stretches],
        "warm_up_seconds": analysis.warm_up,
        "unmeasured_quantities": analysis.profile.job.unmeasured_quantities,
        "idle_comparison": analysis.idle,
        "workload_kind": analysis.workload,
        "usual_ranges": [
            {"name": usual.name, "outliers": list(map(build_outlier, usual.outliers))} for usual in analysis.usual
        ],
        "ruled_out": [{"id": id, "reason": reason} for id, reason in verdict.ruled_out],
        "means": dict(verdict.means),
    }
    return render_json_document(AnalysisDocument, values, inventory)


def build_outlier(outlier: tuple[str, float, float, float]) -> dict[str, str | float]:
    return dict(zip(Outlier.model_fields, outlier, strict=True))
