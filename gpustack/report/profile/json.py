"""A verdict as one JSON document. Within a version fields are only ever added."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.profile.analysis import Analysis
from gpustack.profile.class_ids import Id
from gpustack.profile.classify import Confidence
from gpustack.profile.usual import Workload
from gpustack.report.document import render_json_document
from gpustack.report.renderings import ANALYSIS
from gpustack.report.schema import Document, Seconds, Shape, TextOrNull, take


class RuledOut(Shape):
    """Describe a class that was ruled out, and the measured value that excludes it."""

    id: Id
    reason: TextOrNull


class SignalsShape(Shape):
    """Describe the numbers that the verdict is made from: medians over the GPUs, null where a GPU does not say."""

    engine_ratio: float | None = take("engine")
    engine_p95_ratio: float | None = take("engine_high")
    sm_ratio: float | None = take("sm")
    sm_p95_ratio: float | None = take("sm_high")
    sm_per_engine_ratio: float | None = take("fill")
    occupancy_ratio: float | None = take("occupancy")
    tensor_reachable_ratio: float | None = take("tensor")
    dram_reachable_ratio: float | None = take("dram")
    dram_p95_ratio: float | None = take("dram_high")
    pipe_ratio: float | None = take("pipe")
    pcie_ratio: float | None = take("pcie")
    nvlink_ratio: float | None = take("nvlink")
    utilisation_ratio: float | None = take("utilisation")
    power_per_limit_ratio: float | None = take("power")
    clock_per_maximum_ratio: float | None = take("clock")
    hardware_slowdown_ratio: float | None = take("hardware_slowdown")
    heat_slowdown_ratio: float | None = take("heat_slowdown")
    power_cap_ratio: float | None = take("power_cap")
    activity_spread_ratio: float | None = take("spread")
    least_power_ratio: float | None = take("least_power")
    memory_used_ratio: float | None = take("memory")
    interval_seconds: Seconds = take("interval")
    gap_ratio: float = take("gaps")


class StretchShape(Shape):
    """Describe a part of the time that differs from the others."""

    begin_seconds: Seconds = take("begin")
    seconds: Seconds
    sample_count: int = take("verdict", "signals", "samples")
    verdict: Id = take("verdict", "id")
    confidence: Confidence = take("verdict", "confidence")
    signals: SignalsShape = take("verdict", "signals")


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
    warnings: list[str]
    signals: SignalsShape
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
        "stretches": analysis.stretches,
        "warm_up_seconds": analysis.warm_up,
        "unmeasured_quantities": analysis.profile.job.unmeasured_quantities,
        "idle_comparison": analysis.idle,
        "workload_kind": analysis.workload,
        "usual_ranges": [
            {"name": usual.name, "outliers": list(map(build_outlier, usual.outliers))} for usual in analysis.usual
        ],
        "ruled_out": [{"id": id, "reason": reason} for id, reason in verdict.ruled_out],
        "warnings": [f"{id} is not excluded: {reason}" for id, reason in verdict.alternatives],
    }
    return render_json_document(AnalysisDocument, values, inventory)


def build_outlier(outlier: tuple[str, float, float, float]) -> dict[str, str | float]:
    return dict(zip(Outlier.model_fields, outlier, strict=True))
