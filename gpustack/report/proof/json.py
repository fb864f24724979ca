"""A proof as one JSON document. Within a version fields are only ever added."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.gpus.identity import GpuIdentity
from gpustack.proof.chain import Link as ProofLink
from gpustack.proof.chain import Outcome
from gpustack.proof.prove import Proof
from gpustack.report.document import render_result
from gpustack.report.renderings import PROOF
from gpustack.report.schema import Document, Reasons, Seconds, Shape, TextOrNull, Time, take, take_optional


class Link(Shape):
    """Describe a link between a GPU and the dashboard. `reason` is null when it holds; then it may have notes."""

    link: str
    outcome: Outcome
    reason: TextOrNull
    notes: list[str]


class Gpu(GpuIdentity):
    """Describe a GPU and the links from its kernel to the dashboard."""

    links: list[Link]


class SkippedHost(Shape):
    """Describe a host whose GPUs were not proven."""

    host: str
    reason: TextOrNull


class PartsShape(Shape):
    """Describe how long the parts of the proof took. A part that was not reached has none."""

    kernel_seconds: Seconds | None = take_optional("kernel")
    series_seconds: Seconds | None = take_optional("series")
    dashboard_seconds: Seconds | None = take_optional("dashboard")
    removal_seconds: Seconds | None = take_optional("removal")


class ProofDocument(Document):
    """Describe the result of `gpustack prove`. `remaining` is what could not be removed."""

    kind: Literal["gpustack/proof/v1"] = Field("gpustack/proof/v1", alias="schema")
    proven: bool
    started_at: Time
    seconds: Seconds
    parts: PartsShape
    removed_pod_count: int = take("removed_pods")
    gpus: list[Gpu]
    skipped_hosts: list[SkippedHost]
    stop_reason: TextOrNull
    remaining: Reasons
    warnings: list[str]
    evidence_directory: TextOrNull
    next: TextOrNull


def select_link(link: ProofLink) -> dict[str, object]:
    return {**vars(link), "notes": [link.note] if link.note else []}


def render_json(proof: Proof, inventory: Inventory, evidence: str = "") -> str:
    return render_result(
        PROOF,
        ProofDocument,
        proof,
        inventory,
        proven=bool(proof.rows) and proof.exit_status == 0,
        parts=dict(proof.parts),
        gpus=[
            {**vars(row), "links": [{"link": name, **select_link(link)} for name, link in row.links]}
            for row in proof.rows
        ],
        skipped_hosts=[{"host": host, "reason": reason} for host, reason in proof.skipped_hosts],
        evidence_directory=evidence,
        next=proof.suggest_command(inventory),
    )
