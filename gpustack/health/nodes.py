"""Verdicts on nodes: that of their worst GPU, and what is known of none of their GPUs."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from gpustack.events import format_count
from gpustack.health.judge import GpuHealth, select_worst
from gpustack.health.sign import Verdict
from gpustack.health.sources import NodeOffer, Sources

WHOLE, UNSHARED = "nvidia_com_gpu", "none"


@dataclass(frozen=True)
class NodeHealth:
    """Hold the verdict on a node. `reasons` are sentences about the node itself. `gpu_count` counts the GPUs that sent
    values. `cordoned` is None where kube-state-metrics does not say."""

    node: str
    verdict: Verdict
    reasons: tuple[str, ...]
    gpu_count: int
    cordoned: bool | None


def judge_node(name: str, gpus: Collection[GpuHealth], sources: Sources, *, is_divided: bool) -> NodeHealth:
    offer = sources.offers.get(name, NodeOffer())
    count = sum(gpu.time is not None for gpu in gpus)
    notes = list(find_notes(name, gpus, count, offer, sources, is_divided=is_divided))
    verdict = select_worst([*(gpu.verdict for gpu in gpus), *(verdict for verdict, _ in notes)])
    cordoned = name in sources.cordoned_nodes if name in sources.offers else None
    return NodeHealth(name, verdict, tuple(reason for _, reason in notes), count, cordoned)


def find_notes(
    name: str, gpus: Collection[GpuHealth], count: int, offer: NodeOffer, sources: Sources, *, is_divided: bool
) -> Iterator[tuple[Verdict, str]]:
    """Find verdicts on the node itself, each with its reason."""
    if not count:
        yield "unknown", "no exporter sends values of its GPUs"
        return
    whole_count = offer.capacity.get(WHOLE, 0)
    if count < whole_count and sources.sharing.get(name) == UNSHARED and not is_divided:
        yield "unknown", f"{count} of {format_count(whole_count, 'GPU')} send values"
    if offer.withheld_count and not any(sign.source == "kubelet" for gpu in gpus for sign in gpu.signs):
        offered = f"the kubelet does not offer {offer.withheld_count} of {offer.capacity_count}"
        yield "watch", f"{offered}, and no fault of a GPU says which"
