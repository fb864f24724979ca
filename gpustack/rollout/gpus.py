"""The number of GPUs that hosts have for Kubernetes and that pods can be given, and the pods that got none."""

from contextlib import suppress
from dataclasses import dataclass

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.probes.gpu.cluster import STRANDED_PODS, Pod
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.steps.gpu.count import find_excluded_devices
from gpustack.steps.gpu.exporter import count_series, render_counters
from gpustack.steps.gpu.hosts import count_host_gpus, map_gpu_nodes


@dataclass(frozen=True)
class Gpus:
    """Count the GPUs of a cluster. `allocatable` counts what nodes offer as nvidia.com/gpu (replicas, where GPUs are
    shared), None where no node could be asked. `stranded_pods` are pods that the kubelet refused because no healthy GPU
    was left, and that stay as they are. `excluded_devices` says which functions of the bus are not counted, and why.
    `series` is the number of series of each GPU in Prometheus, by the exporter's list of counters."""

    expected: int
    hosts: int
    allocatable: int | None
    stranded_pods: tuple[Pod, ...] = ()
    excluded_devices: tuple[str, ...] = ()
    series: int = 0

    @property
    def removal_commands(self) -> list[Command]:
        """Return the commands that delete the stranded pods, one for each namespace. The controllers of the pods have
        replaced them, or are gone."""
        names: dict[str, list[str]] = {}
        for pod in self.stranded_pods:
            names.setdefault(pod.namespace, []).append(pod.name)
        return [
            Command("kubectl", "-n", namespace, "delete", "pod", *sorted(pods))
            for namespace, pods in sorted(names.items())
        ]


def count_gpus(snapshot: Snapshot) -> Gpus | None:
    """Count the GPUs of the cluster. Return None where no host has a GPU, or no host could be asked."""
    view = View(snapshot, CLUSTER)
    try:
        gpu_counts = count_host_gpus(view)
    except FactUnavailable:
        return None
    excluded_devices = find_host_exclusions(view)
    if not gpu_counts and not excluded_devices:
        return None
    try:
        allocatable = sum(node.allocatable for node in map_gpu_nodes(view).values())
    except FactUnavailable:
        allocatable = None
    return Gpus(
        sum(gpu_counts.values()),
        len(gpu_counts),
        allocatable,
        find_stranded(view),
        excluded_devices,
        count_series(render_counters(view)),
    )


def find_host_exclusions(view: View) -> tuple[str, ...]:
    """Describe the functions that are not counted, of hosts whose bus is known."""
    views = [view.select_host(host.name) for host in view.hosts]
    excluded_by_host = [
        (host_view.location, find_excluded_devices(host_view[GPU_DEVICES]))
        for host_view in views
        if host_view.has_fact(GPU_DEVICES)
    ]
    return tuple(f"{host} {bus}: {reason}" for host, devices in excluded_by_host for bus, reason in devices.items())


def find_stranded(view: View) -> tuple[Pod, ...]:
    """Return the pods that the kubelet refused; none where that is unknown, because the checks of the same API report
    it."""
    with suppress(FactUnavailable):
        return view[STRANDED_PODS]
    return ()
