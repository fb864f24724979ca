"""How many GPUs the hosts have for Kubernetes, how many of them pods can be given, and pods that got none."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.events import count
from gpustack.probes.gpu.cluster import STRANDED, Pod
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.rollout.plan import Plan
from gpustack.steps.gpu.count import set_aside
from gpustack.steps.gpu.exporter import count_series, own_and_more
from gpustack.steps.gpu.hosts import expected, gpu_nodes


@dataclass(frozen=True)
class Gpus:
    """`allocatable` counts what nodes offer as nvidia.com/gpu (replicas, where GPUs are shared); None where no node
    could be asked. `stranded` are pods that the kubelet refused for want of a healthy GPU and that stay as they are.
    `aside` says which functions of the bus are not counted, and why. `series`: what Prometheus will have of
    each GPU, by the exporter's list of counters."""

    expected: int
    hosts: int
    allocatable: int | None
    stranded: tuple[Pod, ...] = ()
    aside: tuple[str, ...] = ()
    series: int = 0


def counted(found: Plan) -> Gpus | None:
    """None where no host has a GPU, or none could be asked."""
    here = View(found.snapshot, CLUSTER)
    try:
        there = expected(here)
    except FactUnavailable:
        return None
    aside = find_set_aside(here)
    if not there and not aside:
        return None
    try:
        allocatable = sum(node.allocatable for node in gpu_nodes(here).values())
    except FactUnavailable:
        allocatable = None
    return Gpus(
        sum(there.values()), len(there), allocatable, find_stranded(here), aside, count_series(own_and_more(here))
    )


def find_set_aside(here: View) -> tuple[str, ...]:
    """Of hosts that can tell."""
    views = [here.on(host.name) for host in here.hosts]
    found = [(view.where, set_aside(view[GPU_DEVICES])) for view in views if view.available(GPU_DEVICES)]
    return tuple(f"{host} {bus}: {why}" for host, away in found for bus, why in away.items())


def find_stranded(here: View) -> tuple[Pod, ...]:
    """Empty also where that is unknown: the checks of the same API say so."""
    with suppress(FactUnavailable):
        return here[STRANDED]
    return ()


def summary(gpus: Gpus) -> str:
    can = "allocatable unknown" if gpus.allocatable is None else f"{gpus.allocatable} allocatable"
    return f"{count(gpus.expected, 'GPU')} on {count(gpus.hosts, 'host')}, {can}; {gpus.series} series each"


def removal(stranded: Sequence[Pod]) -> list[Command]:
    """The commands that delete them, one for each namespace. What made them has made others by now, or is gone."""
    names: dict[str, list[str]] = {}
    for pod in stranded:
        names.setdefault(pod.namespace, []).append(pod.name)
    return [Command("kubectl", "-n", space, "delete", "pod", *sorted(there)) for space, there in sorted(names.items())]
