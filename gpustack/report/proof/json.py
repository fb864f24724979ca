"""A proof as one JSON document. A field is only ever added within a version."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.proof.chain import Outcome
from gpustack.proof.prove import Proof
from gpustack.report.codes import proof_code
from gpustack.report.document import document, ending
from gpustack.report.proof.text import after_proof
from gpustack.report.schema import Document, Folder, Next, Seconds, Shape, Stopped, TextOrNull, Time, take


class Link(Shape):
    """`link` is kernel, series or dashboard. `reason` is null when it holds; then `note` may be set."""

    link: str
    outcome: Outcome
    reason: TextOrNull = take("why")
    note: TextOrNull


class Gpu(Shape):
    """A GPU and the links from its kernel to the dashboard. `index` is that of the exporter, `bus` the PCI address;
    what is unknown is null."""

    node: str
    index: TextOrNull
    uuid: TextOrNull
    bus: TextOrNull
    model: TextOrNull
    links: list[Link]


class Unasked(Shape):
    """A host whose GPUs were not proven."""

    host: str
    reason: str


class ProofDocument(Document):
    """Result of `gpustack prove`. `parts` are the durations of its parts; `swept` is the number of pods of an earlier
    proof that were removed first; `left` is what could not be removed, else null."""

    kind: Literal["gpustack/proof/v1"] = Field("gpustack/proof/v1", alias="schema")
    proven: bool
    taken: Time
    seconds: Seconds
    parts: dict[str, Seconds]
    swept: int
    gpus: list[Gpu]
    unasked: list[Unasked]
    stopped: Stopped
    left: TextOrNull
    evidence: Folder
    next: Next


def text(done: Proof, inventory: Inventory, evidence: str = "") -> str:
    code = proof_code(done)
    values = {
        **vars(done),
        "exit": ending(code),
        "proven": bool(done.rows) and code == 0,
        "parts": dict(done.parts),
        "gpus": [
            {**vars(row), "links": [{"link": name, **vars(link)} for name, link in row.links]} for row in done.rows
        ],
        "unasked": [{"host": host, "reason": why} for host, why in done.unasked],
        "evidence": evidence,
        "next": after_proof(done, inventory, code),
    }
    return document(ProofDocument, values, inventory)
