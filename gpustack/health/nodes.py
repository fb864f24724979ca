"""Verdicts on nodes: that of their worst GPU, and what is known of none of their GPUs."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from gpustack.events import format_count
from gpustack.health.host_sources import HostSources
from gpustack.health.judge import GpuHealth, select_worst
from gpustack.health.sign import Verdict
from gpustack.health.sources import NodeOffer, Sources

GPU_RESOURCE, NO_SHARING = "nvidia_com_gpu", "none"


@dataclass(frozen=True)
class NodeHealth:
    """Hold the verdict on a node. `reasons` are sentences about the node itself. `gpu_count` counts the GPUs that sent
    values. `cordoned` is None where kube-state-metrics does not say."""

    node: str
    verdict: Verdict
    reasons: tuple[str, ...]
    gpu_count: int
    cordoned: bool | None


def judge_node(name: str, gpus: Collection[GpuHealth], sources: Sources) -> NodeHealth:
    offer = sources.find_offer(name)
    count = sum(gpu.time is not None for gpu in gpus)
    is_whole = sources.sharing.get(name) == NO_SHARING and name not in sources.divided_nodes
    notes = [*find_notes(gpus, count, offer, is_whole=is_whole), *find_host_notes(name, gpus, count, sources.hosts)]
    if name in (sources.unready_nodes or ()):
        notes.append(("watch", "it is not Ready, so that what its kubelet said last does not count"))
    verdict = select_worst([*(gpu.verdict for gpu in gpus), *(verdict for verdict, _ in notes)])
    is_cordoned = name in sources.cordoned_nodes if name in sources.offers else None
    return NodeHealth(name, verdict, tuple(reason for _, reason in notes), count, is_cordoned)


def find_notes(
    gpus: Collection[GpuHealth], count: int, offer: NodeOffer, *, is_whole: bool
) -> Iterator[tuple[Verdict, str]]:
    """Find verdicts on the node itself, each with its reason. `is_whole` tells that a unit of it is known to be a whole
    GPU."""
    if not count:
        yield "unknown", "no exporter sends values of its GPUs"
        return
    whole_count = offer.capacity.get(GPU_RESOURCE, 0)
    if is_whole and count < whole_count:
        yield "unknown", f"{count} of {format_count(whole_count, 'GPU')} send values"
    if offer.withheld_count and not any(sign.source == "kubelet" for gpu in gpus for sign in gpu.signs):
        shortfall = f"the kubelet does not offer {offer.withheld_count} of {offer.capacity_count}"
        yield "watch", f"{shortfall}, and no fault of a GPU says which"


def find_host_notes(
    name: str, gpus: Collection[GpuHealth], count: int, hosts: HostSources
) -> Iterator[tuple[Verdict, str]]:
    """Find proven GPUs that nothing is heard of, and unhealthy devices, such as MIG instances, that are no GPU here."""
    uuids = {entry.gpu.uuid for entry in gpus}
    if count and (proven_gpus := hosts.proven_gpus.get(name)) and (missing := proven_gpus.find_missing(uuids)):
        yield (
            "watch",
            f"{', '.join(sorted(missing))} of the last proof, at {proven_gpus.moment}, sent no values within a day",
        )
    for device in hosts.devices.values():
        if device.node == name and device.uuid not in uuids and device.health == "Unhealthy":
            yield "watch", f"the kubelet says that {device.uuid} is unhealthy"
