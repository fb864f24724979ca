"""A verdict as one JSON document. A field is only ever added within a version."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.profile.analysis import Analysis
from gpustack.profile.classes import Id
from gpustack.profile.classify import Confidence
from gpustack.report.json import document, ending
from gpustack.report.schema import Document, Seconds, Shape, TextOrNull, take

MEANINGS = {0: "a verdict", 8: "unknown: too little data for a verdict"}


class RuledOut(Shape):
    """A class that it is not, and the condition that does not hold."""

    id: Id
    reason: str


class AnalysisDocument(Document):
    """Result of `gpustack profile analyze`. `verdict` is a class of docs/profiling.md; `means` are the numbers that it
    was decided by, shares from 0 to 1, medians over the GPUs; tensor and dram are of what is reachable."""

    kind: Literal["gpustack/analysis/v1"] = Field("gpustack/analysis/v1", alias="schema")
    what: str
    label: TextOrNull
    gpus: list[str]
    seconds: Seconds
    samples: int
    stretches: int
    verdict: Id = take("id")
    title: str
    confidence: Confidence
    because: list[str] = take("reasons")
    support: list[str]
    against: list[str]
    notes: list[str]
    advice: list[str]
    nearly: Id | None = take("second")
    ruled_out: list[RuledOut]
    means: dict[str, float]


def text(found: Analysis, *, inventory: Inventory | None = None) -> str:
    verdict, first = found.verdict, found.job.windows[0]
    values = {
        **vars(verdict),
        "exit": ending(8 if verdict.confidence == "none" else 0, MEANINGS),
        "what": found.profile.what,
        "label": found.profile.label,
        "gpus": [window.gpu.uuid or window.gpu.index for window in found.job.windows],
        "seconds": first.seconds,
        "samples": first.samples,
        "stretches": found.phases,
        "ruled_out": [{"id": id, "reason": why} for id, why in verdict.ruled_out],
        "means": dict(verdict.means),
    }
    return document(AnalysisDocument, values, inventory)
