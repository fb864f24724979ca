"""A proof as one JSON document, with the shape of gpustack/report/schema.py."""

import json
from dataclasses import asdict

from gpustack.config.inventory import Inventory
from gpustack.proof.chain import Row
from gpustack.proof.prove import Proof
from gpustack.report.codes import proof_code
from gpustack.report.json import ending
from gpustack.report.proof import after_proof
from gpustack.report.schema import PROOF, GpuShape, LinkShape, ProofShape, UnaskedShape
from gpustack.report.terminal import escaped
from gpustack.report.words import Clean, cleaner


def text(done: Proof, inventory: Inventory, evidence: str = "") -> str:
    clean, code = cleaner(inventory), proof_code(done)
    document = ProofShape(
        schema=PROOF,
        exit=ending(code),
        proven=bool(done.rows) and code == 0,
        taken=done.taken.isoformat(timespec="milliseconds"),
        seconds=round(done.seconds, 3),
        parts={part: round(took, 3) for part, took in done.parts},
        swept=done.swept,
        gpus=[gpu(row, clean) for row in done.rows],
        unasked=[UnaskedShape(host, clean(why)) for host, why in done.unasked],
        stopped=clean(done.stopped) or None,
        left=clean(done.left) or None,
        evidence=evidence or None,
        next=clean(after_proof(done, inventory, code)) or None,
    )
    return escaped(json.dumps(asdict(document), indent=2, ensure_ascii=False)) + "\n"


def gpu(row: Row, clean: Clean) -> GpuShape:
    return GpuShape(
        node=row.node,
        index=clean(row.index) or None,
        uuid=clean(row.uuid) or None,
        bus=clean(row.bus) or None,
        model=clean(row.model) or None,
        links=[
            LinkShape(name, link.outcome, clean(link.why) or None, clean(link.note) or None) for name, link in row.links
        ],
    )
