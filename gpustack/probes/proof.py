"""Facts that a proof of GPUs, and a way to the monitoring, need before anything is created: nodes that offer GPUs, pods
that use them, nodes of exporters, and Services.

Names are those of NVIDIA's device plugin and GPU feature discovery: the resource nvidia.com/gpu, the labels
nvidia.com/gpu.{product,count,replicas}. With time-slicing a node offers replicas, and the label `count` still says how
many GPUs there are; split into MIG devices by the strategy `single`, it counts those.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.gate import find_gate, remove_gate
from gpustack.probes.kubernetes.nodes import list_objects, parse_each, parse_ready_condition
from gpustack.probes.kubernetes.taints import find_repelling_taints, format_taint
from gpustack.probes.parsing import parse_integer, parse_optional_time, parse_quantity

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-"
# Of the pods of gpustack itself: where they are, the label with the run, and the annotation with the process that made
# them.
PROOF_NAMESPACE, RUN, PROCESS = "gpustack-proof", "gpustack.io/proof", "gpustack.io/process"


@dataclass(frozen=True)
class ProofNode:
    """Describe a node with GPUs.

    `capacity` and `allocatable` count nvidia.com/gpu; `gpus` is how many GPUs that is, None when the node does not
    report it; `replicas` is more than 1 with time-slicing or MPS. `reason` is why it is not Ready;
    `taints` (key:effect) keep ordinary pods with GPUs away. `gate` is the cause in gpustack's own taint, which its pods
    tolerate, None without that taint.
    """

    name: str
    machine_id: str
    ready: bool
    reason: str
    cordoned: bool
    capacity: int
    allocatable: int
    gpus: int | None
    replicas: int
    mig: bool
    product: str
    taints: tuple[str, ...] = ()
    gate: str | None = None


@dataclass(frozen=True)
class GpuPod:
    """Describe a pod that has, or will have, `gpus` of a node: until it has ended they are not free. `process` is the
    gpustack that made it, empty for pods of others."""

    name: str
    node: str
    gpus: int
    process: str = ""


@dataclass(frozen=True)
class Service:
    """Describe a Service: `ports` as name and number, `node_ports` by the same name; `external_addresses` are those of
    a load balancer. `selector` are the labels of its pods, none where somebody else writes its endpoints, and in older
    recordings. `local`: pods reach only those of its pods that run on their own node. `created_at` is None in older
    recordings."""

    name: str
    namespace: str
    kind: str
    address: str
    labels: Mapping[str, str]
    ports: Mapping[str, int]
    node_ports: Mapping[str, int]
    external_addresses: tuple[str, ...]
    selector: Mapping[str, str] = field(default_factory=dict)
    local: bool = False
    created_at: datetime | None = None


@dataclass(frozen=True)
class Ingress:
    """Describe an Ingress: `urls` lead to the Services of the names in `services`, which are in the same namespace."""

    name: str
    namespace: str
    urls: tuple[str, ...]
    services: tuple[str, ...]


def parse_proof_node(entry: Any) -> ProofNode:
    status, labels = entry["status"], entry["metadata"].get("labels", {})
    taints = entry.get("spec", {}).get("taints", ())
    gate = find_gate(taints)
    capacity, allocatable = status.get("capacity", {}), status.get("allocatable", {})
    ready, reason = parse_ready_condition(status)
    product = labels.get("nvidia.com/gpu.product", "")
    replicas = parse_integer(labels.get("nvidia.com/gpu.replicas", "1") or "1")
    mig = "-MIG-" in product or any(parse_quantity(count) for name, count in capacity.items() if name.startswith(MIG))
    count = labels.get("nvidia.com/gpu.count")
    offered_gpus = parse_quantity(capacity.get(GPU, "0"))
    return ProofNode(
        name=entry["metadata"]["name"],
        machine_id=status["nodeInfo"]["machineID"],
        ready=ready,
        reason=reason,
        cordoned=bool(entry.get("spec", {}).get("unschedulable", False)),
        capacity=offered_gpus,
        allocatable=parse_quantity(allocatable.get(GPU, "0")),
        gpus=None if mig else parse_integer(count) if count and replicas > 1 else offered_gpus,
        replicas=max(replicas, 1),
        mig=mig,
        product=product.replace("-SHARED", "").replace("-", " "),
        taints=find_repelling_taints(map(format_taint, remove_gate(taints))),
        gate=gate.cause if gate else None,
    )


def parse_gpu_pods(answer: Answer) -> tuple[GpuPod, ...]:
    return tuple(pod for entry in list_objects(answer) if (pod := parse_gpu_pod(entry)).gpus)


def parse_gpu_pod(entry: Any) -> GpuPod:
    """Parse a pod with GPUs."""
    spec, metadata = entry.get("spec", {}), entry["metadata"]
    process = str(metadata.get("annotations", {}).get(PROCESS, "")) if metadata["namespace"] == PROOF_NAMESPACE else ""
    return GpuPod(
        f"{metadata['namespace']}/{metadata['name']}",
        spec.get("nodeName", ""),
        count_pod_devices(spec, lambda resource: resource == GPU),
        process,
    )


def count_pod_devices(spec: Any, is_device: Callable[[str], bool]) -> int:
    """Count the devices of a pod, whose resources `is_device` selects by name.

    An init container hands its devices on to the following containers: the largest request of these counts, or the sum
    of all others. An init container that restarts always (a side-car) keeps its own.
    """
    init_containers = [
        init_container
        for init_container in spec.get("initContainers", ())
        if init_container.get("restartPolicy") != "Always"
    ]
    sidecars = [sidecar for sidecar in spec.get("initContainers", ()) if sidecar.get("restartPolicy") == "Always"]
    running_devices = sum(count_devices(container, is_device) for container in (*spec.get("containers", ()), *sidecars))
    return max([running_devices, *(count_devices(container, is_device) for container in init_containers)])


def count_devices(container: Any, is_device: Callable[[str], bool]) -> int:
    resources = container.get("resources", {})
    amounts = {**resources.get("requests", {}), **resources.get("limits", {})}
    return sum(parse_quantity(str(amount)) for resource, amount in amounts.items() if is_device(resource))


def parse_exporter_nodes(answer: Answer) -> Mapping[str, str]:
    """Parse the node by pod (namespace/name)."""
    pod_parts = [(entry["metadata"], entry.get("spec", {})) for entry in list_objects(answer)]
    return {f"{metadata['namespace']}/{metadata['name']}": spec.get("nodeName", "") for metadata, spec in pod_parts}


def parse_service(entry: Any) -> Service:
    name, spec = entry["metadata"], entry["spec"]
    ports = {port.get("name", ""): port for port in spec.get("ports", ())}
    balancer = entry.get("status", {}).get("loadBalancer", {}).get("ingress", ())
    return Service(
        name=name["name"],
        namespace=name["namespace"],
        kind=spec.get("type", "ClusterIP"),
        address=spec.get("clusterIP", ""),
        labels=name.get("labels", {}),
        ports={key: port["port"] for key, port in ports.items()},
        node_ports={key: port["nodePort"] for key, port in ports.items() if "nodePort" in port},
        external_addresses=tuple(endpoint.get("hostname") or endpoint["ip"] for endpoint in balancer),
        selector=spec.get("selector") or {},
        local=spec.get("internalTrafficPolicy") == "Local",
        created_at=parse_optional_time(name.get("creationTimestamp")),
    )


def parse_ingress(entry: Any) -> Ingress:
    name, spec = entry["metadata"], entry["spec"]
    tls_hosts = {host for tls in spec.get("tls", ()) for host in tls.get("hosts", ())}
    urls, service_names = [], dict[str, None]()
    for rule in spec.get("rules", ()):
        for path in rule.get("http", {}).get("paths", ()):
            if backend := path["backend"].get("service"):
                service_names[backend["name"]] = None
                host = rule.get("host", "")
                urls.append(f"{'https' if host in tls_hosts else 'http'}://{host or '*'}{path.get('path', '/')}")
    return Ingress(name["name"], name["namespace"], tuple(dict.fromkeys(urls)), tuple(service_names))


def join_paths(*groups: Iterator[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for group in groups for path in group)


def list_field_paths(prefix: str, *names: str) -> Iterator[str]:
    return (f"{prefix}.{name}" for name in names)


CONTAINER = ("resources", "restartPolicy")
NODES = Probe(
    "proof.nodes",
    Api(
        "/api/v1/nodes",
        join_paths(
            ("metadata.name", "metadata.labels", "spec.unschedulable", "spec.taints"),
            list_field_paths("status", "capacity", "allocatable", "nodeInfo.machineID"),
            list_field_paths("status.conditions", "type", "status", "message"),
        ),
    ),
    parse_each(parse_proof_node),
)
PODS = Probe(
    "proof.pods",
    Api(
        "/api/v1/pods?fieldSelector=status.phase!=Succeeded,status.phase!=Failed",
        join_paths(
            ("metadata.name", "metadata.namespace", r"metadata.annotations.gpustack\.io/process", "spec.nodeName"),
            list_field_paths("spec.containers", *CONTAINER),
            list_field_paths("spec.initContainers", *CONTAINER),
        ),
    ),
    parse_gpu_pods,
)
# The label that the GPU operator and an exporter of our own give.
EXPORTERS = Probe(
    "proof.exporters",
    Api(
        "/api/v1/pods?labelSelector=app%3Dnvidia-dcgm-exporter",
        join_paths(("metadata.name", "metadata.namespace", "spec.nodeName")),
    ),
    parse_exporter_nodes,
)
SERVICES = Probe(
    "proof.services",
    Api(
        "/api/v1/services",
        join_paths(
            list_field_paths("metadata", "name", "namespace", "labels", "creationTimestamp"),
            ("status.loadBalancer",),
            list_field_paths("spec", "type", "clusterIP", "ports", "selector", "internalTrafficPolicy"),
        ),
    ),
    parse_each(parse_service),
)
INGRESSES = Probe(
    "proof.ingresses",
    Api(
        "/apis/networking.k8s.io/v1/ingresses",
        join_paths(("metadata.name", "metadata.namespace"), list_field_paths("spec", "tls", "rules")),
    ),
    parse_each(parse_ingress),
)
