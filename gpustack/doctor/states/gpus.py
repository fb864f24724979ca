"""GPUs that a node has and does not offer, and hosts with fewer GPUs than others of their model."""

from collections import Counter
from collections.abc import Iterator

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.gpu.devices import GPU_DEVICES

FEWEST_HOSTS = 3
"""A smaller group of hosts has no usual number of GPUs: either of two hosts may be the one that lacks some."""
MAJORITY = 2 / 3
"""The share of the hosts of a model that have the usual number. Below it they are of several kinds."""


def observe_withheld_gpus(view: View) -> Iterator[AbnormalState]:
    """List resources of which a node has more than it offers. One of which it offers none may be of a removed device
    plugin, or of another MIG layout: the kubelet counts it for minutes."""
    for node in view[GPU_NODES]:
        for resource, (capacity, allocatable) in sorted(node.withheld.items()):
            if not allocatable:
                continue
            yield AbnormalState(
                "gpus-withheld",
                "broken",
                (locate_node(view, node.name),),
                (f"node {node.name}, {resource}",),
                f"{allocatable} of {capacity} are allocatable: the device plugin calls the others unhealthy",
                Command("kubectl", "describe", "node", node.name),
            )


def observe_fewer_gpus(view: View) -> Iterator[AbnormalState]:
    """List hosts with fewer GPUs on the PCI bus than most hosts with the same models. A host for which the inventory
    sets the number has what it is to have."""
    host_views = [view.select_host(host.name) for host in view.hosts if host.spec.gpustack_gpus is None]
    counts: dict[tuple[str, ...], dict[str, int]] = {}
    for host_view in host_views:
        if host_view.has_fact(GPU_DEVICES) and (devices := host_view[GPU_DEVICES]):
            models = tuple(sorted({device.device for device in devices}))
            counts.setdefault(models, {})[host_view.location] = len(devices)
    for host_counts in counts.values():
        ((usual_count, share),) = Counter(host_counts.values()).most_common(1)
        if len(host_counts) < FEWEST_HOSTS or share < MAJORITY * len(host_counts):
            continue
        for host, count in host_counts.items():
            if count < usual_count:
                yield build_fewer_state(host, count, usual_count, share)


def build_fewer_state(host: str, count: int, usual_count: int, host_count: int) -> AbnormalState:
    message = f"{count} on the PCI bus; {host_count} hosts of the same model have {usual_count}"
    return AbnormalState(
        "gpus-fewer", "note", (host,), (f"GPUs of {host}",), message, Command("lspci", "-nn", "-d", "10de:")
    )


OBSERVERS = (
    Observer("withheld-gpus", "GPUs that nodes do not offer", observe_withheld_gpus, (GPU_NODES,)),
    Observer("fewer-gpus", "Hosts with fewer GPUs than others", observe_fewer_gpus, (GPU_DEVICES,)),
)
