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

Owned = tuple[float, float, Pod, str]
"""Begin, end, pod, vgpu."""


def find_owners(pods: Iterable[Pod], *, virtual: bool) -> dict[tuple[str, int], list[Owned]]:
    """Find the owners by node and slot, in the order of time. A shared GPU has its owners at its first slot, all of
    them if `virtual`."""
    found: dict[tuple[str, int], list[Owned]] = defaultdict(list)
    for pod in sorted((pod for pod in pods if pod.node), key=lambda pod: pod.binding):
        shared = pod.pool.sharing == "time-slicing"
        for slot in pod.slots:
            place = pod.pool.find_gpu(slot) if shared else slot
            found[pod.on, place].append(
                (pod.binding, pod.end, pod, name_vgpu(pod.pool, slot) if shared and virtual else "")
            )
    if virtual:
        return found
    return {place: list(choose_owners(owned)) for place, owned in found.items()}


def name_vgpu(pool: Pool, slot: int) -> str:
    return str(slot // pool.gpus)


def choose_owners(owned: list[Owned]) -> Iterable[Owned]:
    """Choose at each moment the pod with the highest uid."""
    moments = sorted({moment for begin, end, _, _ in owned for moment in (begin, end)})
    there: list[Owned] = []
    place = 0
    for begin, end in pairwise(moments):
        there = [one for one in there if one[1] > begin]
        while place < len(owned) and owned[place][0] <= begin:
            there.append(owned[place])
            place += 1
        if there := [one for one in there if one[1] > begin]:
            yield begin, end, max(there, key=lambda one: one[2].uid)[2], ""
