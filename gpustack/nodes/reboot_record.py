"""The record of a reboot that is under way, an annotation of the node: by it the next gpustack continues a killed one.

While the host still has the boot of the record, the reboot is to come; with another one it is to be verified.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from gpustack.ask.probe import UNREADABLE
from gpustack.files.json_text import dump_json, load_json
from gpustack.nodes.cordon import build_patch_command
from gpustack.probes.kubernetes.node_records import CORDON_RECORD, REBOOT_RECORD, NodeRecord


@dataclass(frozen=True)
class RebootRecord:
    """Hold the state before a reboot, which `author` began at the time `begun_at`.

    `host` is the node's host by its name in the inventory: while it boots, its answers do not tell. `boot` identifies
    the boot, `devices` counts the GPUs and MIG instances that were allocatable, and `has_exporter` tells whether an
    exporter of GPUs was ready. A node that was `cordoned` before stays so.
    """

    host: str
    boot: str
    devices: Mapping[str, int]
    has_exporter: bool
    author: str
    begun_at: str
    cordoned: bool = False

    @property
    def text(self) -> str:
        return dump_json(asdict(self), sort_keys=True)


def parse_reboot_record(text: str) -> RebootRecord | None:
    """Parse a record; None where the text is none."""
    try:
        document = load_json(text)
        devices = {str(resource): int(count) for resource, count in document["devices"].items()}
        host, boot, author, time = (str(document[key]) for key in ("host", "boot", "author", "begun_at"))
        has_exporter, was_cordoned = bool(document["has_exporter"]), bool(document.get("cordoned"))
        return RebootRecord(host, boot, devices, has_exporter, author, time, was_cordoned)
    except UNREADABLE:
        return None


def build_record_command(node: NodeRecord, record: RebootRecord) -> str:
    """Build the command that records a reboot which is to come. The node stays schedulable."""
    return build_patch_command(node, {REBOOT_RECORD: record.text}, {})


def build_end_command(node: NodeRecord, *, keeps_cordon: bool = False) -> str:
    """Build the command that removes the records, and the cordon where it is gpustack's, unless `keeps_cordon` is set.
    The record of a cordon that somebody else ended meanwhile goes, too."""
    if keeps_cordon and node.owns_cordon:
        return build_patch_command(node, {REBOOT_RECORD: None}, {})
    spec = {"unschedulable": None} if node.owns_cordon else {}
    return build_patch_command(node, {REBOOT_RECORD: None, CORDON_RECORD: None}, spec)
