"""The record of proven GPUs on their node, so that another GPU in their place is seen.

Only the UUIDs of all GPUs of a node are a record: a node with a GPU that is in use, or that failed, keeps its earlier
one."""

from collections.abc import Iterable
from datetime import datetime

from gpustack.files.json_text import dump_json
from gpustack.proof.chain import Row

MANAGER = "gpustack-proof"
"""The field manager, by which the API server knows who wrote the record."""
GPU = "GPU-"
"""The beginning of the UUID of a whole GPU. MIG instances get new UUIDs with each layout."""


def list_proven_uuids(rows: Iterable[Row]) -> dict[str, list[str]]:
    """List the UUIDs of GPUs by node, of nodes where each GPU ran the kernel and has a series."""
    rows_by_node: dict[str, list[Row]] = {}
    for row in rows:
        rows_by_node.setdefault(row.node, []).append(row)
    return {
        node: sorted({row.uuid for row in own_rows})
        for node, own_rows in rows_by_node.items()
        if all(row.kernel.outcome == row.series.outcome == "ok" and row.uuid.startswith(GPU) for row in own_rows)
    }


def list_proven_nodes(rows: Iterable[Row]) -> list[str]:
    """List the nodes where each GPU, or each MIG instance, ran the kernel and has a series."""
    rows = list(rows)
    unproven_nodes = {row.node for row in rows if not row.kernel.outcome == row.series.outcome == "ok"}
    return sorted({row.node for row in rows} - unproven_nodes)


def format_proof_record(uuids: Iterable[str], moment: datetime) -> str:
    """Format the record of a proof, which `parse_proven_gpus` reads."""
    return dump_json({"at": moment.isoformat(timespec="seconds"), "gpus": list(uuids)})
