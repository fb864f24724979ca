"""Pools, nodes and slots. A slot is what one unit of a resource is: a GPU, a MIG instance, or a share of a GPU's time.

Names of resources are kube-state-metrics' (SanitizeLabelName in internal/store/utils.go, v2.20). MIG with strategy
`mixed` names each profile; time-slicing keeps nvidia.com/gpu, or has nvidia.com/gpu.shared with renameByDefault; the
product label then has -SHARED only in the first case (GPU Operator, "Time-Slicing GPUs in Kubernetes").

Traps: nodes join late, leave and come back, are cordoned with pods on them; a GPU is unhealthy for a while, which the
device plugin takes out of allocatable and not out of capacity; two instances of 3g.40gb leave a seventh of a GPU that
nobody can have; one unit of nvidia.com/gpu is a quarter of a GPU on a node with time-slicing.
"""

import random
from dataclasses import dataclass, field
from uuid import UUID

from tests.worlds.life.clock import DAY, HOUR, NO_TIME, Span, stream


@dataclass(frozen=True)
class Pool:
    """`gpus` of a node and `units` of a GPU. `share` of a GPU that one unit is; of MIG by compute slices of seven."""

    name: str
    model: str
    product: str
    resource: str
    sharing: str
    gpus: int
    units: int
    share: float
    profile: str = ""

    @property
    def slots(self) -> int:
        return self.gpus * self.units

    def find_gpu(self, slot: int) -> int:
        """The device plugin hands out shares of the least used GPU first: neighbours in number are on other GPUs."""
        return slot % self.gpus


@dataclass
class Node:
    """`up_spans`: registered and ready. `broken_slots`: slot and span. Slots are numbered."""

    name: str
    pool: Pool
    up_spans: list[Span]
    cordoned_spans: list[Span] = field(default_factory=list)
    broken_slots: list[tuple[int, float, float]] = field(default_factory=list)

    def is_broken(self, slot: int, moment: float) -> bool:
        return any(number == slot and begin <= moment < end for number, begin, end in self.broken_slots)

    def format_uuid(self, slot: int) -> str:
        return f"GPU-{UUID(int=stream(0, self.name, self.pool.find_gpu(slot)).getrandbits(128))}"


def draw_pools(seed: int, *, small: bool) -> list[tuple[Pool, int]]:
    """Draw the pools with their number of nodes at the start. `small`: a tenth of the GPUs, of the same kinds."""
    rng = stream(seed, "pools")
    renamed, large_instances = rng.random() < 0.5, rng.random() < 0.4
    profile, instances, slices = ("3g.40gb", 2, 3) if large_instances else ("1g.10gb", 7, 1)
    mig = f"nvidia_com_mig_{profile.replace('.', '_')}"
    resource = "nvidia_com_gpu_shared" if renamed else "nvidia_com_gpu"
    t4 = "Tesla-T4" if renamed else "Tesla-T4-SHARED"
    big, middle, cards = (4, 2, 1) if small else (8, 4, 4)
    nodes = (2, 2, 1, 1) if small else (rng.randint(4, 6), rng.randint(4, 7), rng.randint(1, 2), rng.randint(1, 2))
    pools = (
        Pool("h100", "NVIDIA H100 80GB HBM3", "NVIDIA-H100-80GB-HBM3", "nvidia_com_gpu", "none", big, 1, 1.0),
        Pool("l40s", "NVIDIA L40S", "NVIDIA-L40S", "nvidia_com_gpu", "none", middle, 1, 1.0),
        Pool(
            "mig", "NVIDIA A100-SXM4-80GB", "NVIDIA-A100-SXM4-80GB", mig, "mig", cards, instances, slices / 7, profile
        ),
        Pool("shared", "Tesla T4", t4, resource, "time-slicing", cards, 4, 0.25),
    )
    return list(zip(pools, nodes, strict=True))


def draw_nodes(seed: int, pool: Pool, count: int, begin: float, start: float, end: float) -> list[Node]:
    """`begin` is before the start: the life has a past. What happens to nodes does not depend on `end`."""
    nodes = [Node(f"{pool.name}-{number}", pool, [(begin, NO_TIME)]) for number in range(1, count + 1)]
    rng = stream(seed, "nodes", pool.name)
    if rng.random() < 0.4:
        arrival = start + rng.uniform(5, 50) * DAY
        nodes.append(Node(f"{pool.name}-{count + 1}", pool, [(arrival // 1, NO_TIME)]))
    for node in nodes[1:count]:  # the first is always there
        _draw_mishaps(rng, node, start)
    for node in nodes:
        node.up_spans = [span for span in node.up_spans if span[0] < end]
    return nodes


def _draw_mishaps(rng: random.Random, node: Node, start: float) -> None:
    """At most one of each in sixty days, never at once."""
    if rng.random() < 0.35:  # maintenance: cordoned, drained an hour later, back after hours or days
        cordon = start + rng.randint(2 * DAY, 18 * DAY)
        uncordon = cordon + HOUR + rng.randint(2 * HOUR, 60 * HOUR)
        node.up_spans = [(node.up_spans[0][0], cordon + HOUR), (uncordon, NO_TIME)]
        node.cordoned_spans.append((cordon, cordon + HOUR))
    if rng.random() < 0.3:  # cordoned for some hours, its pods stay
        cordon = start + rng.randint(22 * DAY, 38 * DAY)
        node.cordoned_spans.append((cordon, cordon + rng.randint(4 * HOUR, 24 * HOUR)))
    if rng.random() < 0.3 and node.pool.sharing == "none":
        break_moment = start + rng.randint(41 * DAY, 55 * DAY)
        node.broken_slots.append(
            (rng.randrange(node.pool.slots), break_moment, break_moment + rng.randint(6 * HOUR, 72 * HOUR))
        )
