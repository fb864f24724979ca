"""Free GPUs, and the reasons why no pod takes them, from series of kube-state-metrics about nodes and waiting pods."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gpustack.capacity.state import FreeUnits

GPU = "nvidia_com_"
TAINT = "nvidia.com/gpu"
"""A taint of nodes with GPUs, which pods that ask for a GPU tolerate (admission plugin ExtendedResourceToleration)."""
BYTES = 2**30
UNKNOWN_UNIT = "the hours of the report do not say whether a unit is a whole one or a share, as with time-slicing"


@dataclass
class Node:
    """Describe a node: units by resource, and how many GPUs one unit is where that is known; `taints` are KEY or
    KEY=VALUE of those that keep pods away."""

    allocatable: dict[str, float] = field(default_factory=dict)
    requests: dict[str, float] = field(default_factory=dict)
    gpus_per_unit: dict[str, float] = field(default_factory=dict)
    taints: list[str] = field(default_factory=list)
    ready: bool | None = None
    cordoned: bool = False

    def compute_free(self, resource: str) -> float:
        return self.allocatable.get(resource, 0.0) - self.requests.get(resource, 0.0)


Requests = Mapping[str, float]
"""Units by resource that a waiting pod requests, cpu and memory (bytes) among them."""


def find_free(nodes: Mapping[str, Node], pods: Mapping[str, Requests]) -> Iterator[FreeUnits]:
    """Find free units by node and resource. `pods` have the requests of waiting pods by their names, namespace/pod."""
    for name, node in sorted(nodes.items()):
        for resource in sorted(node.allocatable):
            units = node.compute_free(resource)
            if resource.startswith(GPU) and units > 0:
                is_usable, reasons = explain_free(node, resource, units, pods)
                gpus_per_unit = node.gpus_per_unit.get(resource)
                if gpus_per_unit is None:
                    reasons.append(UNKNOWN_UNIT)
                yield FreeUnits(name, resource, units, gpus_per_unit, is_usable, tuple(reasons))


def find_common_unit(nodes: Iterable[Node], resource: str) -> float | None:
    """Find how many GPUs one unit of a resource is, to a thousandth. Return None where nodes differ in it, where it is
    not known of one, and where none offers the resource."""
    known_units = {node.gpus_per_unit.get(resource) for node in nodes if resource in node.allocatable}
    rounded_units = {None if unit is None else round(unit, 3) for unit in known_units}
    return rounded_units.pop() if len(rounded_units) == 1 else None


def explain_free(node: Node, resource: str, units: float, pods: Mapping[str, Requests]) -> tuple[bool, list[str]]:
    """Explain free units: whether a waiting pod could take them, and sentences about the reason."""
    reasons = [*(["the node is not ready"] if node.ready is False else []), *(["cordoned"] if node.cordoned else [])]
    if reasons:
        return False, reasons
    taints = [f"only for pods that tolerate {taint}" for taint in node.taints if not taint.startswith(TAINT)]
    waiting_pods = {name: requests for name, requests in pods.items() if requests.get(resource)}
    if not waiting_pods:
        return True, [*taints, "no pod waits for them"]
    fitting_pods = {name: requests for name, requests in waiting_pods.items() if requests[resource] <= units}
    if not fitting_pods:
        smallest_request = min(requests[resource] for requests in waiting_pods.values())
        return False, [*taints, f"too few on one node: pods that wait want {smallest_request:g} or more"]
    shortages_by_pod = {name: list(find_shortages(node, requests)) for name, requests in fitting_pods.items()}
    candidates = sorted(name for name, shortages in shortages_by_pod.items() if not shortages)
    if candidates:
        reason = f"{candidates[0]} would fit: its selectors, tolerations or quota keep it away, or it is new"
        return True, [*taints, reason]
    name = min(shortages_by_pod, key=lambda pod_name: (len(shortages_by_pod[pod_name]), pod_name))
    return False, [*taints, f"{name} would fit, but for {' and '.join(shortages_by_pod[name])}"]


def find_shortages(node: Node, requests: Requests) -> Iterator[str]:
    for resource, template in (("cpu", "{:g} CPUs"), ("memory", "{:.1f} GiB")):
        request, free = requests.get(resource, 0.0), max(0.0, node.compute_free(resource))
        if resource in node.allocatable and request > free:
            scale = BYTES if resource == "memory" else 1
            yield f"{template.format(request / scale)}, of which {free / scale:.1f} are free"
