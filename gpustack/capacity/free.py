"""Free GPUs, and why no pod takes them; pure: from what kube-state-metrics says of nodes and of pods that wait."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpustack.capacity.state import Free

GPU = "nvidia_com_"
TAINT = "nvidia.com/gpu"
"""Of nodes with GPUs: what asks for a GPU tolerates it (admission plugin ExtendedResourceToleration)."""
BYTES = 2**30


@dataclass
class Node:
    """Units by resource; `taints` are KEY or KEY=VALUE of those that keep pods away."""

    allocatable: dict[str, float] = field(default_factory=dict)
    requested: dict[str, float] = field(default_factory=dict)
    taints: list[str] = field(default_factory=list)
    ready: bool | None = None
    cordoned: bool = False

    def free(self, resource: str) -> float:
        return self.allocatable.get(resource, 0.0) - self.requested.get(resource, 0.0)


Wanted = Mapping[str, float]
"""Of a pod that waits: units by resource, cpu and memory (bytes) among them."""


def find_free(nodes: Mapping[str, Node], pods: Mapping[str, Wanted]) -> Iterator[Free]:
    """By node and resource. `pods` are by their names, namespace/pod."""
    for name, node in sorted(nodes.items()):
        for resource in sorted(node.allocatable):
            units = node.free(resource)
            if resource.startswith(GPU) and units > 0:
                usable, reasons = explain(node, resource, units, pods)
                yield Free(name, resource, units, usable, tuple(reasons))


def explain(node: Node, resource: str, units: float, pods: Mapping[str, Wanted]) -> tuple[bool, list[str]]:
    """Whether a pod could take them, and sentences."""
    closed = [*(["the node is not ready"] if node.ready is False else []), *(["cordoned"] if node.cordoned else [])]
    if closed:
        return False, closed
    taints = [f"only for pods that tolerate {taint}" for taint in node.taints if not taint.startswith(TAINT)]
    waiting = {name: wanted for name, wanted in pods.items() if wanted.get(resource)}
    if not waiting:
        return True, [*taints, "no pod waits for them"]
    fitting = {name: wanted for name, wanted in waiting.items() if wanted[resource] <= units}
    if not fitting:
        least = min(wanted[resource] for wanted in waiting.values())
        return False, [*taints, f"too few on one node: pods that wait want {least:g} or more"]
    lacks = {name: list(lacking(node, wanted)) for name, wanted in fitting.items()}
    enough = sorted(name for name, found in lacks.items() if not found)
    if enough:
        return True, [*taints, f"{enough[0]} would fit: its selectors, tolerations or quota keep it away, or it is new"]
    name = min(lacks, key=lambda one: (len(lacks[one]), one))
    return False, [*taints, f"{name} would fit, but for {' and '.join(lacks[name])}"]


def lacking(node: Node, wanted: Wanted) -> Iterator[str]:
    for resource, shown in (("cpu", "{:g} CPUs"), ("memory", "{:.1f} GiB")):
        need, free = wanted.get(resource, 0.0), max(0.0, node.free(resource))
        if resource in node.allocatable and need > free:
            scale = BYTES if resource == "memory" else 1
            yield f"{shown.format(need / scale)}, of which {free / scale:.1f} are free"
