"""What a proof of GPUs, and a way to the monitoring, need to know before anything is created: which nodes offer GPUs,
which pods use them, where exporters run, and which Services there are.

Names are those of NVIDIA's device plugin and GPU feature discovery: the resource nvidia.com/gpu, the labels
nvidia.com/gpu.{product,count,replicas}. With time-slicing a node offers replicas, and the label `count` still says how
many GPUs there are; split into MIG devices by the strategy `single`, it counts those.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries, ready_or_why
from gpustack.probes.parsing import number

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-"
# Of the pods of gpustack itself: where they are, the label with the run, and the annotation with the process that made
# them.
PROOF_NAMESPACE, RUN, PROCESS = "gpustack-proof", "gpustack.io/proof", "gpustack.io/process"


@dataclass(frozen=True)
class ProofNode:
    """`capacity` and `allocatable` count what is offered as nvidia.com/gpu; `gpus` is how many GPUs that is, None when
    the node does not say; `replicas` is more than 1 with time-slicing or MPS. `reason` is why it is not Ready."""

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


@dataclass(frozen=True)
class GpuPod:
    """A pod that was given `gpus` of a node, or will be: until it has ended they are not free. `process` is the
    gpustack that made it, empty for pods of others."""

    name: str
    node: str
    gpus: int
    process: str = ""


@dataclass(frozen=True)
class Service:
    """`ports` as name and number, `node_ports` by the same name; `outside` are addresses of a load balancer."""

    name: str
    namespace: str
    kind: str
    address: str
    labels: Mapping[str, str]
    ports: Mapping[str, int]
    node_ports: Mapping[str, int]
    outside: tuple[str, ...]


@dataclass(frozen=True)
class Ingress:
    """`urls` lead to the Services of the names in `services`, which are in the same namespace."""

    name: str
    namespace: str
    urls: tuple[str, ...]
    services: tuple[str, ...]


def nodes(answer: Answer) -> tuple[ProofNode, ...]:
    return tuple(node(entry) for entry in entries(answer))


def node(entry: Any) -> ProofNode:
    status, labels = entry["status"], entry["metadata"].get("labels", {})
    capacity, allocatable = status.get("capacity", {}), status.get("allocatable", {})
    ready, reason = ready_or_why(status)
    product = labels.get("nvidia.com/gpu.product", "")
    replicas = number(labels.get("nvidia.com/gpu.replicas", "1") or "1")
    mig = "-MIG-" in product or any(number(count) for name, count in capacity.items() if name.startswith(MIG))
    count = labels.get("nvidia.com/gpu.count")
    offered = number(capacity.get(GPU, "0"))
    return ProofNode(
        name=entry["metadata"]["name"],
        machine_id=status["nodeInfo"]["machineID"],
        ready=ready,
        reason=reason,
        cordoned=bool(entry.get("spec", {}).get("unschedulable", False)),
        capacity=offered,
        allocatable=number(allocatable.get(GPU, "0")),
        gpus=None if mig else number(count) if count and replicas > 1 else offered,
        replicas=max(replicas, 1),
        mig=mig,
        product=product.replace("-SHARED", "").replace("-", " "),
    )


def pods(answer: Answer) -> tuple[GpuPod, ...]:
    return tuple(pod for entry in entries(answer) if (pod := read_gpu_pod(entry)).gpus)


def read_gpu_pod(entry: Any) -> GpuPod:
    """An init container hands its GPUs on to those that follow: the largest of these, or what all others ask for. One
    that restarts always (a side-car) keeps its own."""
    spec, name = entry.get("spec", {}), entry["metadata"]
    first = [one for one in spec.get("initContainers", ()) if one.get("restartPolicy") != "Always"]
    beside = [one for one in spec.get("initContainers", ()) if one.get("restartPolicy") == "Always"]
    together = sum(count_gpus(one) for one in (*spec.get("containers", ()), *beside))
    most = max((count_gpus(one) for one in first), default=0)
    process = str(name.get("annotations", {}).get(PROCESS, "")) if name["namespace"] == PROOF_NAMESPACE else ""
    return GpuPod(f"{name['namespace']}/{name['name']}", spec.get("nodeName", ""), max(together, most), process)


def count_gpus(container: Any) -> int:
    resources = container.get("resources", {})
    return number(str({**resources.get("requests", {}), **resources.get("limits", {})}.get(GPU, "0")))


def exporters(answer: Answer) -> Mapping[str, str]:
    """Node by pod (namespace/name)."""
    found = [(entry["metadata"], entry.get("spec", {})) for entry in entries(answer)]
    return {f"{name['namespace']}/{name['name']}": spec.get("nodeName", "") for name, spec in found}


def services(answer: Answer) -> tuple[Service, ...]:
    return tuple(service(entry) for entry in entries(answer))


def service(entry: Any) -> Service:
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
        outside=tuple(found.get("hostname") or found["ip"] for found in balancer),
    )


def ingresses(answer: Answer) -> tuple[Ingress, ...]:
    return tuple(ingress(entry) for entry in entries(answer))


def ingress(entry: Any) -> Ingress:
    name, spec = entry["metadata"], entry["spec"]
    safe = {host for tls in spec.get("tls", ()) for host in tls.get("hosts", ())}
    urls, behind = [], dict[str, None]()
    for rule in spec.get("rules", ()):
        for path in rule.get("http", {}).get("paths", ()):
            if found := path["backend"].get("service"):
                behind[found["name"]] = None
                host = rule.get("host", "")
                urls.append(f"{'https' if host in safe else 'http'}://{host or '*'}{path.get('path', '/')}")
    return Ingress(name["name"], name["namespace"], tuple(dict.fromkeys(urls)), tuple(behind))


def keep(*groups: Iterator[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for group in groups for path in group)


def prefix_names(before: str, *names: str) -> Iterator[str]:
    return (f"{before}.{name}" for name in names)


CONTAINER = ("resources", "restartPolicy")
NODES = Probe(
    "proof.nodes",
    Api(
        "/api/v1/nodes",
        keep(
            ("metadata.name", "metadata.labels", "spec.unschedulable"),
            prefix_names("status", "capacity", "allocatable", "nodeInfo.machineID"),
            prefix_names("status.conditions", "type", "status", "message"),
        ),
    ),
    nodes,
)
PODS = Probe(
    "proof.pods",
    Api(
        "/api/v1/pods?fieldSelector=status.phase!=Succeeded,status.phase!=Failed",
        keep(
            ("metadata.name", "metadata.namespace", r"metadata.annotations.gpustack\.io/process", "spec.nodeName"),
            prefix_names("spec.containers", *CONTAINER),
            prefix_names("spec.initContainers", *CONTAINER),
        ),
    ),
    pods,
)
# The label that the GPU operator and an exporter of our own give.
EXPORTERS = Probe(
    "proof.exporters",
    Api(
        "/api/v1/pods?labelSelector=app%3Dnvidia-dcgm-exporter",
        keep(("metadata.name", "metadata.namespace", "spec.nodeName")),
    ),
    exporters,
)
SERVICES = Probe(
    "proof.services",
    Api(
        "/api/v1/services",
        keep(
            ("metadata.name", "metadata.namespace", "metadata.labels", "status.loadBalancer"),
            prefix_names("spec", "type", "clusterIP", "ports"),
        ),
    ),
    services,
)
INGRESSES = Probe(
    "proof.ingresses",
    Api(
        "/apis/networking.k8s.io/v1/ingresses",
        keep(("metadata.name", "metadata.namespace"), prefix_names("spec", "tls", "rules")),
    ),
    ingresses,
)
