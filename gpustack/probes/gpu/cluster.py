"""GPUs as Kubernetes knows them: nodes with their labels and counts, and what NVIDIA's operator says of its own work.

Labels: NFD's pci-10de.present, GPU feature discovery's nvidia.com/gpu.*, the operator's nvidia.com/gpu.deploy.*. States
and reasons of a ClusterPolicy: NVIDIA/gpu-operator internal/conditions.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries, entries_if_known
from gpustack.probes.kubernetes.workloads import probe as workloads
from gpustack.probes.parsing import number

RESOURCE = "nvidia.com/gpu"
RESOURCES = "nvidia.com/"  # MIG instances have names of their own
REFUSED = "UnexpectedAdmissionError"
RELEASE = "meta.helm.sh/release-name"


@dataclass(frozen=True)
class GpuNode:
    """`labels` are those about GPUs. `capacity` and `allocatable` count whole `nvidia.com/gpu`, or their replicas where
    GPUs are shared; of MIG instances, each profile by its resource's name in `slices`."""

    name: str
    machine_id: str
    labels: Mapping[str, str]
    capacity: int
    allocatable: int
    slices: Mapping[str, int]


@dataclass(frozen=True)
class Policy:
    """A ClusterPolicy: `state` ready, notReady, ignored or disabled; `reason` and `message` of its condition Ready, or
    of Error where that holds; `release` is the Helm release that made it."""

    name: str
    state: str
    reason: str
    message: str
    release: str


@dataclass(frozen=True)
class Pod:
    """`node` is where it was to run."""

    namespace: str
    name: str
    node: str


def find_stranded(answer: Answer) -> tuple[Pod, ...]:
    """Pods that the kubelet refused, as the device plugin had no healthy GPU to give at that moment. They stay as they
    are until somebody deletes them, and who made them makes others (kubernetes/kubernetes pkg/kubelet/cm/devicemanager,
    Allocate)."""
    found = []
    for entry in entries(answer):
        status = entry.get("status", {})
        if status.get("reason") == REFUSED and RESOURCES in status.get("message", ""):
            metadata = entry["metadata"]
            found.append(Pod(metadata["namespace"], metadata["name"], entry.get("spec", {}).get("nodeName", "")))
    return tuple(found)


def nodes(answer: Answer) -> tuple[GpuNode, ...]:
    return tuple(node(entry) for entry in entries(answer))


def node(entry: dict[str, dict[str, dict[str, str]]]) -> GpuNode:
    metadata, status = entry["metadata"], entry["status"]
    labels = metadata.get("labels", {})
    about = ("nvidia.com/", "feature.node.kubernetes.io/pci-")
    allocatable = status.get("allocatable", {})
    slices = {key: number(value) for key, value in allocatable.items() if key.startswith("nvidia.com/mig-")}
    return GpuNode(
        str(metadata["name"]),
        status["nodeInfo"]["machineID"],
        {key: value for key, value in labels.items() if key.startswith(about)},
        number(status.get("capacity", {}).get(RESOURCE, "0")),
        number(allocatable.get(RESOURCE, "0")),
        slices,
    )


def policies(answer: Answer) -> tuple[Policy, ...] | None:
    """None while the API does not know the kind. Raises ValueError for another refusal."""
    known = entries_if_known(answer)
    if known is None:
        return None
    found = []
    for entry in known:
        status = entry.get("status", {})
        conditions = {one["type"]: one for one in status.get("conditions", ())}
        failed = conditions.get("Error", {}).get("status") == "True"
        condition = conditions.get("Error" if failed else "Ready", {})
        release = entry["metadata"].get("annotations", {}).get(RELEASE, "")
        found.append(
            Policy(
                entry["metadata"]["name"],
                status.get("state", ""),
                condition.get("reason", ""),
                condition.get("message", ""),
                release,
            )
        )
    return tuple(found)


GPU_NODES = Probe(
    "gpu.nodes",
    Api(
        "/api/v1/nodes",
        ("metadata.name", "metadata.labels", "status.nodeInfo.machineID", "status.capacity", "status.allocatable"),
    ),
    nodes,
)
CLUSTER_POLICIES = Probe(
    "gpu.cluster-policies",
    Api(
        "/apis/nvidia.com/v1/clusterpolicies",
        ("metadata.name", r"metadata.annotations.meta\.helm\.sh/release-name", "status.state", "status.conditions"),
    ),
    policies,
    ends=(0, 1),
)
STRANDED = Probe(
    "gpu.stranded-pods",
    Api(
        "/api/v1/pods?fieldSelector=status.phase%3DFailed",
        ("metadata.namespace", "metadata.name", "spec.nodeName", "status.reason", "status.message"),
    ),
    find_stranded,
)
GPU_DAEMON_SETS = workloads("gpu.daemon-sets", "daemonsets", "GPU_NAMESPACE")
GPU_DEPLOYMENTS = workloads("gpu.deployments", "deployments", "GPU_NAMESPACE")
