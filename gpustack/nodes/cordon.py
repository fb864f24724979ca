"""The cordon of a node as gpustack records it, and the commands that set and remove it.

One patch sets the cordon and its record, so that neither is there without the other. It names the version of the node
that was read: where somebody changed the node meanwhile, the API server refuses it.
"""

import shlex
from datetime import UTC, datetime
from typing import Any, Literal

from gpustack.ask.api import ADMIN
from gpustack.files.json_text import dump_json
from gpustack.probes.kubernetes.node_records import CORDON_RECORD, NODE_MANAGER, NodeRecord

CordonState = Literal["none", "gpustack", "others"]


def classify_cordon(record: NodeRecord) -> CordonState:
    """Tell who cordoned a node."""
    if not record.cordoned:
        return "none"
    return "gpustack" if record.owns_cordon else "others"


def build_cordon_command(record: NodeRecord, author: str) -> str:
    """Build the command that cordons a node. `author` is who does so."""
    return build_patch_command(
        record, {CORDON_RECORD: format_cordon_record(author, datetime.now(UTC))}, {"unschedulable": True}
    )


def format_cordon_record(author: str, moment: datetime) -> str:
    """Format the record of a cordon, which `parse_cordon` reads."""
    return dump_json({"who": author, "at": moment.isoformat(timespec="seconds")})


def build_uncordon_command(record: NodeRecord) -> str:
    return build_patch_command(record, {CORDON_RECORD: None}, {"unschedulable": None})


def build_patch_command(record: NodeRecord, annotations: dict[str, str | None], spec: dict[str, Any]) -> str:
    """Build the command that changes a node of this version."""
    metadata = {"resourceVersion": record.version, "annotations": annotations}
    patch = dump_json({"metadata": metadata, **({"spec": spec} if spec else {})})
    options = f"--type=merge --field-manager={NODE_MANAGER} --request-timeout=20s"
    return f"kubectl {ADMIN} patch node {shlex.quote(record.name)} {options} -p {shlex.quote(patch)}"
