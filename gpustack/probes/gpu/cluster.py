"""GPUs as Kubernetes knows them: nodes with their labels and counts, and the status that NVIDIA's operator reports.

Labels: NFD's pci-10de.present, GPU feature discovery's nvidia.com/gpu.*, the operator's nvidia.com/gpu.deploy.*. States
and reasons of a ClusterPolicy: NVIDIA/gpu-operator internal/conditions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects, list_objects_if_known, parse_each
from gpustack.probes.kubernetes.workloads import build_probe as workloads
from gpustack.probes.parsing import parse_quantity

RESOURCE = "nvidia.com/gpu"
SHARED_RESOURCE = "nvidia.com/gpu.shared"
"""The name of GPUs that the device plugin shares and renames (renameByDefault, NVIDIA/k8s-device-plugin README)."""
RESOURCES = "nvidia.com/"  # MIG instances have names of their own
ADMISSION_ERROR = "UnexpectedAdmissionError"
RELEASE = "meta.helm.sh/release-name"
GPU_LABELS = tuple(f"feature.node.kubernetes.io/pci-{part}.present" for part in ("10de", "0302_10de", "0300_10de"))
"""Labels of NFD by which the operator knows a node with GPUs; it compares whole keys, and the value `true`
(NVIDIA/gpu-operator controllers/state_manager.go, gpuNodeLabels)."""


@dataclass(frozen=True)
class GpuNode:
    """Describe the GPUs of a node.

    `labels` are those about GPUs. `capacity` and `allocatable` count whole GPUs, or their replicas where GPUs are
    shared, and `resource` is the name by which pods get them; `slices` counts MIG instances, each profile by the name
    of its resource. `withheld` has the capacity and the smaller allocatable number of each of NVIDIA's resources of
    which the node does not offer all.
    """

    name: str
    machine_id: str
    labels: Mapping[str, str]
    capacity: int
    allocatable: int
    slices: Mapping[str, int]
    withheld: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    resource: str = RESOURCE

    @property
    def offers_gpus(self) -> bool:
        """Tell whether a pod can get a GPU or a MIG instance of the node."""
        return self.allocatable > 0 or any(self.slices.values())


@dataclass(frozen=True)
class Policy:
    """Hold a ClusterPolicy: `state` is ready, notReady, ignored or disabled; `reason` and `message` are of its
    condition Ready, or of Error where that holds; `release` is the Helm release that made it."""

    name: str
    state: str
    reason: str
    message: str
    release: str


@dataclass(frozen=True)
class Pod:
    """Identify a pod. `node` is where it was to run."""

    namespace: str
    name: str
    node: str


def parse_stranded_pods(answer: Answer) -> tuple[Pod, ...]:
    """Parse the pods that the kubelet refused because the device plugin had no healthy GPU to give at that moment.

    They stay until somebody deletes them, and their controller makes others (kubernetes/kubernetes
    pkg/kubelet/cm/devicemanager, Allocate).
    """
    pods = []
    for entry in list_objects(answer):
        status = entry.get("status", {})
        if status.get("reason") == ADMISSION_ERROR and RESOURCES in status.get("message", ""):
            metadata = entry["metadata"]
            pods.append(Pod(metadata["namespace"], metadata["name"], entry.get("spec", {}).get("nodeName", "")))
    return tuple(pods)


def parse_gpu_node(entry: dict[str, dict[str, dict[str, str]]]) -> GpuNode:
    metadata, status = entry["metadata"], entry["status"]
    labels = metadata.get("labels", {})
    prefixes = ("nvidia.com/", "feature.node.kubernetes.io/pci-")
    allocatable, capacity = status.get("allocatable", {}), status.get("capacity", {})
    slices = {key: parse_quantity(value) for key, value in allocatable.items() if key.startswith("nvidia.com/mig-")}
    resource = find_resource(allocatable)
    return GpuNode(
        str(metadata["name"]),
        status["nodeInfo"]["machineID"],
        {key: value for key, value in labels.items() if key.startswith(prefixes)},
        parse_quantity(capacity.get(resource, "0")),
        parse_quantity(allocatable.get(resource, "0")),
        slices,
        find_withheld(capacity, allocatable, former=RESOURCE if resource != RESOURCE else ""),
        resource,
    )


def find_resource(allocatable: Mapping[str, str]) -> str:
    """Find the name by which pods get the GPUs of a node. After they were renamed, none is left of the former name: the
    kubelet counts those in its capacity until it starts again."""
    is_renamed = parse_quantity(allocatable.get(SHARED_RESOURCE, "0")) > 0
    return SHARED_RESOURCE if is_renamed and parse_quantity(allocatable.get(RESOURCE, "0")) == 0 else RESOURCE


def find_withheld(
    capacity: Mapping[str, str], allocatable: Mapping[str, str], *, former: str = ""
) -> Mapping[str, tuple[int, int]]:
    """Find NVIDIA's resources of which fewer are allocatable than there are. The kubelet leaves out devices that their
    plugin calls unhealthy (kubernetes/kubernetes pkg/kubelet/cm/devicemanager, GetCapacity). `former` is the name that
    GPUs had before they were renamed."""
    counts = {
        name: (parse_quantity(number), parse_quantity(allocatable.get(name, "0")))
        for name, number in capacity.items()
        if name.startswith(RESOURCES) and name != former
    }
    return {name: pair for name, pair in counts.items() if pair[1] < pair[0]}


def parse_policies(answer: Answer) -> tuple[Policy, ...] | None:
    """Parse the ClusterPolicies, or None while the API does not know the kind. Raise ValueError where it refuses for
    another reason."""
    policy_objects = list_objects_if_known(answer)
    if policy_objects is None:
        return None
    policies = []
    for entry in policy_objects:
        status = entry.get("status", {})
        conditions = {raw_condition["type"]: raw_condition for raw_condition in status.get("conditions", ())}
        has_failed = conditions.get("Error", {}).get("status") == "True"
        condition = conditions.get("Error" if has_failed else "Ready", {})
        release = entry["metadata"].get("annotations", {}).get(RELEASE, "")
        policies.append(
            Policy(
                entry["metadata"]["name"],
                status.get("state", ""),
                condition.get("reason", ""),
                condition.get("message", ""),
                release,
            )
        )
    return tuple(policies)


GPU_NODES = Probe(
    "gpu.nodes",
    Api(
        "/api/v1/nodes",
        ("metadata.name", "metadata.labels", "status.nodeInfo.machineID", "status.capacity", "status.allocatable"),
    ),
    parse_each(parse_gpu_node),
)
CLUSTER_POLICIES = Probe(
    "gpu.cluster-policies",
    Api(
        "/apis/nvidia.com/v1/clusterpolicies",
        ("metadata.name", r"metadata.annotations.meta\.helm\.sh/release-name", "status.state", "status.conditions"),
    ),
    parse_policies,
    exit_codes=(0, 1),
)
STRANDED_PODS = Probe(
    "gpu.stranded-pods",
    Api(
        "/api/v1/pods?fieldSelector=status.phase%3DFailed",
        ("metadata.namespace", "metadata.name", "spec.nodeName", "status.reason", "status.message"),
    ),
    parse_stranded_pods,
)
GPU_DAEMON_SETS = workloads("gpu.daemon-sets", "daemonsets", "$GPU_NAMESPACE")
GPU_DEPLOYMENTS = workloads("gpu.deployments", "deployments", "$GPU_NAMESPACE")
