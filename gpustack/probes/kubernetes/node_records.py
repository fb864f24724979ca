"""Nodes with what gpustack recorded on them: who cordoned them, which reboot is under way, acts of remediation, and
which GPUs were proven.

The record of a cordon is an annotation. The API server notes in managedFields who set `spec.unschedulable` last: where
a person uncordons a node and cordons it again, that is no longer gpustack, whatever the annotation says.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gpustack.ask.probe import UNREADABLE, Api, Probe
from gpustack.files.json_text import load_json
from gpustack.probes.gpu.cluster import RESOURCES
from gpustack.probes.kubernetes.applied_objects import list_leaves
from gpustack.probes.kubernetes.gate import Gate, find_gate
from gpustack.probes.kubernetes.nodes import parse_each, parse_ready_condition
from gpustack.probes.parsing import parse_optional_time, parse_quantity
from gpustack.probes.proof import join_paths, list_field_paths

CORDON_RECORD, REBOOT_RECORD = "gpustack.io/cordon", "gpustack.io/reboot"
REMEDIATION_RECORD = "gpustack.io/remediation"
PROOF_RECORD = "gpustack.io/proven-gpus"
CORDON_FIELD = ("spec", "unschedulable")
NODE_MANAGER = "gpustack-nodes"
"""The name by which the API server knows who wrote: the field manager."""


@dataclass(frozen=True)
class NodeRecord:
    """Describe a node. `version` is its resourceVersion, which a change of it names. `cordon_record`, `reboot_record`,
    `remediation_record` and `proof_record` are the texts of gpustack's annotations, empty without one. `cordon_manager`
    set `spec.unschedulable` last. `reason` is why it is not Ready. `devices` counts the allocatable GPUs and MIG
    instances by the name of their resource. `reported_at` is when the kubelet last wrote the status, by the
    clock of its host. `taints` are as the API has them, and `created_at` is when the node joined."""

    name: str
    machine_id: str
    version: str
    ready: bool
    reason: str
    cordoned: bool
    cordon_manager: str
    cordon_record: str
    reboot_record: str
    devices: Mapping[str, int]
    reported_at: datetime | None = None
    remediation_record: str = ""
    proof_record: str = ""
    taints: tuple[Mapping[str, str], ...] = ()
    created_at: datetime | None = None

    @property
    def gate(self) -> Gate | None:
        return find_gate(self.taints)

    @property
    def owns_cordon(self) -> bool:
        """Tell whether gpustack cordoned the node, and nobody else did since."""
        return self.cordoned and bool(self.cordon_record) and self.cordon_manager == NODE_MANAGER


@dataclass(frozen=True)
class Cordon:
    """Describe a cordon by gpustack: its author, and when, None where the record has no time with a time zone."""

    author: str
    cordoned_at: datetime | None


def parse_cordon(text: str) -> Cordon | None:
    """Parse the record of a cordon, None for a text that is none."""
    try:
        record = load_json(text)
        return Cordon(str(record["who"]), parse_cordon_time(record.get("at")))
    except UNREADABLE:
        return None


def parse_cordon_time(text: Any) -> datetime | None:
    """Parse the time of a cordon, None for a text without a time zone. Raise ValueError or TypeError where it is no
    time."""
    time = datetime.fromisoformat(text) if text else None
    return time if time and time.tzinfo else None


@dataclass(frozen=True)
class ProvenGpus:
    """Hold the UUIDs of all GPUs of a node, as a proof of each of them had them at a time."""

    proven_at: datetime
    uuids: frozenset[str]

    def find_unproven(self, uuids: Collection[str]) -> frozenset[str]:
        """Find the GPUs among these that were not proven."""
        return frozenset(uuids) - self.uuids

    def find_missing(self, uuids: Collection[str]) -> frozenset[str]:
        """Find the proven GPUs that are not among these."""
        return self.uuids - frozenset(uuids)

    @property
    def moment(self) -> str:
        """The time of the proof, for a sentence."""
        return f"{self.proven_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def parse_proven_gpus(text: str) -> ProvenGpus | None:
    """Parse the record of a proof, None for a text that is none."""
    try:
        record = load_json(text)
        time, uuids = parse_optional_time(record["at"]), record["gpus"]
    except UNREADABLE:
        return None
    is_list = isinstance(uuids, list) and all(isinstance(uuid, str) for uuid in uuids)
    return ProvenGpus(time, frozenset(uuids)) if is_list and time else None


def parse_node_record(entry: Any) -> NodeRecord:
    metadata, status = entry["metadata"], entry["status"]
    annotations = metadata.get("annotations", {})
    ready, reason = parse_ready_condition(status)
    return NodeRecord(
        name=metadata["name"],
        machine_id=status["nodeInfo"]["machineID"],
        version=metadata["resourceVersion"],
        ready=ready,
        reason=reason,
        cordoned=bool(entry.get("spec", {}).get("unschedulable", False)),
        cordon_manager=find_manager(metadata.get("managedFields", ())),
        cordon_record=annotations.get(CORDON_RECORD, ""),
        reboot_record=annotations.get(REBOOT_RECORD, ""),
        devices={
            resource: parse_quantity(number)
            for resource, number in status.get("allocatable", {}).items()
            if resource.startswith(RESOURCES)
        },
        reported_at=max(parse_heartbeats(status), default=None),
        remediation_record=annotations.get(REMEDIATION_RECORD, ""),
        proof_record=annotations.get(PROOF_RECORD, ""),
        taints=tuple(dict(taint) for taint in entry.get("spec", {}).get("taints", ())),
        created_at=parse_optional_time(metadata.get("creationTimestamp")),
    )


def parse_heartbeats(status: Any) -> Iterator[datetime]:
    for condition in status.get("conditions", ()):
        if time := parse_optional_time(condition.get("lastHeartbeatTime")):
            yield time


def find_manager(entries: Any) -> str:
    """Find who set `spec.unschedulable` last, by managedFields; empty where nobody is noted."""
    managers = (entry["manager"] for entry in entries if CORDON_FIELD in list_leaves(entry.get("fieldsV1", {})))
    return next(managers, "")


NODE_RECORDS = Probe(
    "node.records",
    Api(
        "/api/v1/nodes",
        join_paths(
            list_field_paths("metadata", "name", "resourceVersion", "creationTimestamp"),
            list_field_paths(
                "metadata.annotations",
                r"gpustack\.io/cordon",
                r"gpustack\.io/reboot",
                r"gpustack\.io/remediation",
                r"gpustack\.io/proven-gpus",
            ),
            list_field_paths("metadata.managedFields", "manager", "fieldsV1.f:spec.f:unschedulable"),
            list_field_paths("status", "allocatable", "nodeInfo.machineID"),
            list_field_paths("status.conditions", "type", "status", "message", "lastHeartbeatTime"),
            list_field_paths("spec", "unschedulable", "taints"),
        ),
    ),
    parse_each(parse_node_record),
)
