"""The pods of one node, with what a drain has to know of each: who makes it anew, what it loses, and which GPUs it has.

The node is the variable NODE. A pod of a static manifest has the annotation `kubernetes.io/config.mirror`
(kubernetes/kubernetes pkg/kubelet/types/constants.go), and the kubelet starts it again whatever is done to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.probe import Api, Probe
from gpustack.probes.gpu.cluster import RESOURCES
from gpustack.probes.kubernetes.nodes import parse_each
from gpustack.probes.parsing import parse_optional_time
from gpustack.probes.proof import count_pod_devices, join_paths, list_field_paths

MIRROR = "kubernetes.io/config.mirror"
NODE_VARIABLE = "NODE"


@dataclass(frozen=True)
class NodePod:
    """Describe a pod of a node.

    `owner_kind`, `owner` and `owner_uid` are those of its controller, and empty without one. `devices` counts GPUs and
    MIG instances. `scratch_volumes` are the names of its volumes of the kind emptyDir, which are deleted with it.
    `refusal` is why the kubelet refused or evicted it. `leaves` tells that its deletion has begun.
    """

    namespace: str
    name: str
    uid: str
    owner_kind: str
    owner: str
    owner_uid: str
    phase: str
    ready: bool
    started_at: datetime | None
    devices: int
    labels: Mapping[str, str]
    scratch_volumes: tuple[str, ...]
    mirror: bool
    leaves: bool
    refusal: str

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def controller(self) -> str:
        """The kind and the name of its controller, empty without one."""
        return f"{self.owner_kind} {self.owner}".strip()

    @property
    def has_ended(self) -> bool:
        return self.phase in ("Succeeded", "Failed")


def parse_node_pod(entry: Any) -> NodePod:
    metadata, spec, status = entry["metadata"], entry.get("spec", {}), entry["status"]
    controllers = [owner for owner in metadata.get("ownerReferences", ()) if owner.get("controller")]
    conditions = {condition["type"]: condition["status"] for condition in status.get("conditions", ())}
    return NodePod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        owner_kind=controllers[0]["kind"] if controllers else "",
        owner=controllers[0]["name"] if controllers else "",
        owner_uid=controllers[0]["uid"] if controllers else "",
        phase=status["phase"],
        ready=conditions.get("Ready") == "True",
        started_at=parse_optional_time(status.get("startTime")),
        devices=count_pod_devices(spec, lambda resource: resource.startswith(RESOURCES)),
        labels=metadata.get("labels", {}),
        scratch_volumes=tuple(volume["name"] for volume in spec.get("volumes", ()) if "emptyDir" in volume),
        mirror=MIRROR in metadata.get("annotations", {}),
        leaves="deletionTimestamp" in metadata,
        refusal=status.get("reason", ""),
    )


NODE_PODS = Probe(
    "node.pods",
    Api(
        f"/api/v1/pods?fieldSelector=spec.nodeName%3D${NODE_VARIABLE}",
        join_paths(
            list_field_paths("metadata", "name", "namespace", "uid", "labels", "deletionTimestamp"),
            list_field_paths("metadata.ownerReferences", "kind", "name", "uid", "controller"),
            (r"metadata.annotations.kubernetes\.io/config\.mirror",),
            list_field_paths("spec.volumes", "name", "emptyDir"),
            list_field_paths("spec.containers", "resources", "restartPolicy"),
            list_field_paths("spec.initContainers", "resources", "restartPolicy"),
            list_field_paths("status", "phase", "reason", "startTime"),
            list_field_paths("status.conditions", "type", "status"),
        ),
    ),
    parse_each(parse_node_pod),
)
