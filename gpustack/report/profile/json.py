"""A verdict as one JSON document. A field is only ever added within a version."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.profile.analysis import Analysis
from gpustack.profile.classes import Id
from gpustack.profile.classify import Confidence
from gpustack.profile.expected import Workload
from gpustack.report.codes import ANALYSED, analysis_code
from gpustack.report.document import document, ending
from gpustack.report.schema import Document, Seconds, Shape, TextOrNull, take


class RuledOut(Shape):
    """A class that it is not, and the condition that does not hold."""

    id: Id
    reason: str


class StretchShape(Shape):
    """A part of the time that differs from the others: `begin` in seconds after the warm-up, and what bounds it."""

    begin: Seconds
    seconds: Seconds
    verdict: Id = take("verdict", "id")
    confidence: Confidence = take("verdict", "confidence")
    means: dict[str, float]


class Outside(Shape):
    """A number outside of what a kind of work usually shows."""

    name: str
    value: float
    least: float
    most: float


class UsualShape(Shape):
    """A kind of work, and which numbers are not as it usually shows them."""

    what: str
    outside: list[Outside]


class AboveShape(Shape):
    """A mean at work, and what a baseline has of it when idle, in `unit`."""

    name: str
    unit: str
    idle: float
    value: float


class AnalysisDocument(Document):
    """Result of `gpustack profile analyze`. `verdict` is a class of docs/profiling.md; `means` are the numbers that it
    was decided by, shares from 0 to 1, medians over the GPUs; tensor and dram are of what is reachable. `parts` are
    there where the time has several stretches. `missing` was not measured. `usual` is what kinds of the `workload` that
    was named usually show, nearest first."""

    kind: Literal["gpustack/analysis/v1"] = Field("gpustack/analysis/v1", alias="schema")
    what: str
    label: TextOrNull
    gpus: list[str]
    seconds: Seconds
    samples: int
    stretches: int
    parts: list[StretchShape]
    warm_up: Seconds
    missing: list[str]
    verdict: Id = take("id")
    title: str
    confidence: Confidence
    because: list[str] = take("reasons")
    support: list[str]
    against: list[str]
    notes: list[str]
    advice: list[str]
    helped: str
    nearly: Id | None = take("second")
    ruled_out: list[RuledOut]
    means: dict[str, float]
    workload: Workload | None
    usual: list[UsualShape]
    over_idle: list[AboveShape] = take("idle")


def text(found: Analysis, *, inventory: Inventory | None = None) -> str:
    verdict, first = found.verdict, found.job.windows[0]
    values = {
        **vars(verdict),
        "exit": ending(analysis_code(found), ANALYSED),
        "what": found.profile.what,
        "label": found.profile.label,
        "gpus": [window.gpu.uuid or window.gpu.index for window in found.job.windows],
        "seconds": first.seconds,
        "samples": first.samples,
        "stretches": max(1, len(found.stretches)),
        "parts": [{**vars(one), "means": dict(one.verdict.means)} for one in found.stretches],
        "warm_up": found.warm_up,
        "missing": found.profile.job.unmeasured,
        "idle": found.idle,
        "workload": found.workload,
        "usual": [{"what": one.what, "outside": list(map(outside, one.outside))} for one in found.usual],
        "ruled_out": [{"id": id, "reason": why} for id, why in verdict.ruled_out],
        "means": dict(verdict.means),
    }
    return document(AnalysisDocument, values, inventory)


def outside(one: tuple[str, float, float, float]) -> dict[str, str | float]:
    return dict(zip(Outside.model_fields, one, strict=True))
