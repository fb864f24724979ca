"""The pod that an exporter names for each slot: the kubelet's list of devices, read from its pod-resources socket.

A shared GPU has several pods there. Without KUBERNETES_VIRTUAL_GPUS the exporter's map from device to pod keeps one of
them, which one is arbitrary; with it, each pod has a copy of the whole GPU's series, told apart by `vgpu`
(internal/pkg/transformation/kubernetes.go of NVIDIA/dcgm-exporter).
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from tests.worlds.life.hardware import Pool
from tests.worlds.life.pod import Pod

OwnerSpan = tuple[float, float, Pod, str]
"""Begin, end, pod, vgpu."""


def find_owners(pods: Iterable[Pod], *, virtual: bool) -> dict[tuple[str, int], list[OwnerSpan]]:
    """Find the owners by node and slot, in the order of time. A shared GPU has its owners at its first slot, all of
    them if `virtual`."""
    owners: dict[tuple[str, int], list[OwnerSpan]] = defaultdict(list)
    for pod in sorted((pod for pod in pods if pod.node), key=lambda pod: pod.binding):
        is_shared = pod.pool.sharing == "time-slicing"
        for slot in pod.slots:
            place = pod.pool.find_gpu(slot) if is_shared else slot
            owners[pod.on, place].append(
                (pod.binding, pod.end, pod, name_vgpu(pod.pool, slot) if is_shared and virtual else "")
            )
    if virtual:
        return owners
    return {place: list(choose_owners(owner_spans)) for place, owner_spans in owners.items()}


def name_vgpu(pool: Pool, slot: int) -> str:
    return str(slot // pool.gpus)


def choose_owners(owner_spans: list[OwnerSpan]) -> Iterable[OwnerSpan]:
    """Choose at each moment the pod with the highest uid."""
    moments = sorted({moment for begin, end, _, _ in owner_spans for moment in (begin, end)})
    present_owners: list[OwnerSpan] = []
    place = 0
    for begin, end in pairwise(moments):
        present_owners = [owner for owner in present_owners if owner[1] > begin]
        while place < len(owner_spans) and owner_spans[place][0] <= begin:
            present_owners.append(owner_spans[place])
            place += 1
        if present_owners := [owner for owner in present_owners if owner[1] > begin]:
            yield begin, end, max(present_owners, key=lambda owner: owner[2].uid)[2], ""
