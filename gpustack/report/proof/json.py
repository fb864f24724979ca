"""A proof as one JSON document, with the shape of gpustack/report/schema.py."""

from gpustack.config.inventory import Inventory
from gpustack.proof.chain import Row
from gpustack.proof.prove import Proof
from gpustack.report.codes import proof_code
from gpustack.report.json import document, ending
from gpustack.report.proof.text import after_proof
from gpustack.report.schema import PROOF, GpuShape, LinkShape, ProofShape, UnaskedShape


def text(done: Proof, inventory: Inventory, evidence: str = "") -> str:
    code = proof_code(done)
    shape = ProofShape(
        schema=PROOF,
        exit=ending(code),
        proven=bool(done.rows) and code == 0,
        taken=done.taken.isoformat(timespec="milliseconds"),
        seconds=done.seconds,
        parts=dict(done.parts),
        swept=done.swept,
        gpus=[gpu(row) for row in done.rows],
        unasked=[UnaskedShape(host, why) for host, why in done.unasked],
        stopped=done.stopped or None,
        left=done.left or None,
        evidence=evidence or None,
        next=after_proof(done, inventory, code) or None,
    )
    return document(shape, inventory)


def gpu(row: Row) -> GpuShape:
    return GpuShape(
        node=row.node,
        index=row.index or None,
        uuid=row.uuid or None,
        bus=row.bus or None,
        model=row.model or None,
        links=[LinkShape(name, link.outcome, link.why or None, link.note or None) for name, link in row.links],
    )
