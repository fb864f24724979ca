"""Series of dcgm-exporter, scraped with honorLabels false: the workload's pod is in exported_pod, and only while it has
the GPU. In MIG mode there are instances only, each with the parent's UUID, and no DCGM_FI_DEV_GPU_UTIL
(NVIDIA/dcgm-exporter#561 and #430); free GPUs and instances have series too. With time-slicing the values are those of
the whole GPU, whoever is named. DCGM collects every 30 s and the exporter serves what it has: values lag.
"""

from collections.abc import Iterator, Mapping, Sequence

from tests.worlds.life.attribution import OwnerSpan
from tests.worlds.life.clock import Span, merge_spans, subtract_spans
from tests.worlds.life.hardware import Node
from tests.worlds.life.kube_state import Series
from tests.worlds.life.samples import Pieces
from tests.worlds.life.steps import Steps
from tests.worlds.life.truth import Truth

ACTIVE, SM, UTIL = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"
TEMP = "DCGM_FI_DEV_GPU_TEMP"


def build_gpu_series(
    node: Node, truth: Truth, owners: Mapping[tuple[str, int], Sequence[OwnerSpan]], end: float
) -> Iterator[Series]:
    """Build all series of a node. `owners` are those that find_owners returns for all pods."""
    pool, loads = node.pool, compute_engine_loads(node, truth, end)
    for place in range(pool.gpus if pool.sharing == "time-slicing" else pool.slots):
        gpu = pool.find_gpu(place)
        labels = {
            "gpu": str(gpu), "UUID": node.format_uuid(place), "pci_bus_id": f"00000000:{0x18 + gpu:02X}:00.0",
            "device": f"nvidia{gpu}", "modelName": pool.model, "hostname": node.name,
        }  # fmt: skip
        if pool.sharing == "mig":
            number = place // pool.gpus
            labels |= {"GPU_I_PROFILE": pool.profile, "GPU_I_ID": str(number + (7 if pool.units == 7 else 1))}
        load = loads[gpu if pool.sharing == "time-slicing" else place]
        for owner_labels, begin, last in label_owners(owners.get((node.name, place), ()), truth.start, end):
            yield from build_fields(
                {**labels, **owner_labels}, list(load.list_pieces(begin, last)), mig=pool.sharing == "mig"
            )


def label_owners(
    owner_spans: Sequence[OwnerSpan], start: float, end: float
) -> Iterator[tuple[dict[str, str], float, float]]:
    """Label spans with their owners; a span without one has no labels."""
    spans: list[Span] = []
    for begin, last, pod, vgpu in owner_spans:
        owner_labels = {"exported_namespace": pod.namespace, "exported_pod": pod.name, "exported_container": "main"}
        spans.append((begin, last))
        if max(begin, start) < min(last, end):
            yield owner_labels | ({"vgpu": vgpu} if vgpu else {}), max(begin, start), min(last, end)
    for begin, last in subtract_spans(start, end, merge_spans(spans)):
        yield {}, begin, last


def build_fields(labels: dict[str, str], load: Pieces, *, mig: bool) -> Iterator[Series]:
    yield ACTIVE, labels, load
    yield SM, labels, [(begin, end, round(0.9 * value, 3)) for begin, end, value in load]
    yield TEMP, labels, [(begin, end, 62.0 if value else 34.0) for begin, end, value in load]
    if not mig:
        # The share of time with any kernel, in per cent: 100 soon.
        yield UTIL, labels, [(begin, end, float(min(100, round(130 * value)))) for begin, end, value in load]


def compute_engine_loads(node: Node, truth: Truth, end: float) -> list[Steps]:
    """Compute loads by slot, or by GPU where its time is shared: there the pods' engines take turns."""
    pool = node.pool
    is_shared = pool.sharing == "time-slicing"
    spans: list[list[tuple[float, float, float]]] = [[] for _ in range(pool.gpus if is_shared else pool.slots)]
    for pod in truth.pods:
        if pod.node is node:
            for slot in pod.slots[: pod.used_units]:
                spans[pool.find_gpu(slot) if is_shared else slot] += truth.draw_work(pod)
    loads = [Steps(span) for span in spans]
    for load in loads:
        load.values = [min(1.0, max(0.0, round(value, 3))) for value in load.values]
    return loads
