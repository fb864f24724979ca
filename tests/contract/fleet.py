"""A fleet whose use is known exactly, by hand and not by the product: nodes, GPUs and pods over some days.

On day 15 a GPU moves from one host to another, and on day 22 a node comes to another pool. m1 is partitioned by MIG,
and pods share the GPUs of t1 by time-slicing.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tests.worlds.life.clock import DAY, HOUR, MINUTE, Span

H100, A100, L40S = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA L40S"
PRICES = {H100: 3.2, A100: 2.0, L40S: 1.1}
MOVE_OUT, MOVE_IN = 15 * DAY + 12 * HOUR + 20 * MINUTE, 15 * DAY + 14 * HOUR + 5 * MINUTE
RELABEL_TIME = 22 * DAY + 10 * HOUR
BEFORE, AFTER = 6 * HOUR, 3 * HOUR
"""Seconds that the fleet lives before its first day and after its last, so that the end of an hour changes nothing."""
SHARERS = 4
LEVEL = 0.8


@dataclass(frozen=True)
class Place:
    """Describe what one unit of a resource stands for. `profile` and `instance` are of MIG; `share` is its part of a
    GPU. The unit is there from `begin` to `end`, in seconds since the first day."""

    node: str
    model: str
    uuid: str
    index: int
    share: float = 1.0
    profile: str = ""
    instance: str = ""
    begin: float = -BEFORE
    end: float = float("inf")

    @property
    def resource(self) -> str:
        return f"nvidia_com_mig_{self.profile.replace('.', '_')}" if self.profile else "nvidia_com_gpu"


@dataclass(frozen=True)
class Pod:
    """Describe a pod. It is busy from `begin` to `busy_end`, and idle until `end`. Times are in seconds since 1970."""

    namespace: str
    name: str
    uid: str
    places: tuple[Place, ...]
    begin: float
    busy_end: float
    end: float


def list_places() -> list[list[Place]]:
    """List the units in groups, each of which one pod after the other has."""
    moved_uuid = "GPU-h1-3"
    return [
        [Place("h1", H100, f"GPU-h1-{index}", index) for index in (0, 1)],
        [Place("h1", H100, "GPU-h1-2", 2)],
        [Place("h1", H100, moved_uuid, 3, end=MOVE_OUT)],
        [Place("h2", H100, f"GPU-h2-{index}", index) for index in (0, 1)],
        [Place("h2", H100, "GPU-h2-2", 2)],
        [Place("h2", H100, moved_uuid, 3, begin=MOVE_IN)],
        *([Place("m1", A100, "GPU-m1-0", 0, 1 / 7, "1g.10gb", str(7 + number))] for number in range(7)),
        *([Place("m1", A100, "GPU-m1-1", 1, 3 / 7, "3g.40gb", str(1 + number))] for number in range(2)),
        *([Place("t1", L40S, f"GPU-t1-{unit // SHARERS}", unit // SHARERS, 1 / SHARERS)] for unit in range(8)),
    ]


@dataclass(frozen=True)
class Fleet:
    """Hold a fleet of so many days from `start`, in seconds since 1970."""

    start: float
    days: int
    pods: Sequence[Pod]

    @property
    def first(self) -> float:
        return self.start - BEFORE

    @property
    def last(self) -> float:
        return self.start + self.days * DAY + AFTER

    def find_pool(self, node: str, moment: float) -> str:
        return "serve" if node == "h2" and moment >= self.start + RELABEL_TIME else "train"

    def list_pools(self, node: str) -> Iterator[tuple[str, float, float]]:
        moments = sorted({self.first, min(self.last, self.start + RELABEL_TIME), self.last})
        for begin, end in pairwise(moments):
            yield self.find_pool(node, begin), begin, end

    def list_presence(self, place: Place) -> Span:
        return max(self.first, self.start + place.begin), min(self.last, self.start + place.end)


def draw_fleet(start: float, days: int, grain: float = 1.0) -> Fleet:
    """Draw a fleet whose pods begin and end at multiples of `grain` seconds: of 300, raw series lose nothing."""
    rng = random.Random(40)
    last = start + days * DAY + AFTER
    pods = [
        align_pod(pod, grain)
        for number, places in enumerate(list_places())
        for pod in draw_pods(rng, start, last, number, tuple(places))
    ]
    return Fleet(start, days, [pod for pod in pods if pod.begin < pod.end])


def align_pod(pod: Pod, grain: float) -> Pod:
    begin, busy_end, end = (moment // grain * grain for moment in (pod.begin, pod.busy_end, pod.end))
    return replace(pod, begin=begin, busy_end=busy_end, end=end)


def draw_pods(rng: random.Random, start: float, last: float, number: int, places: tuple[Place, ...]) -> Iterator[Pod]:
    """Draw one pod after the other: jobs, whose names are all different; pods of a StatefulSet, which all have the same
    name; and those of a Deployment, which have a new name after every change."""
    namespace, kind = ("vision", "speech", "search")[number % 3], ("job", "set", "deployment")[number // 2 % 3]
    begin = start + places[0].begin + rng.uniform(0, HOUR)
    end_of_place, round_number = min(last, start + places[0].end), 0
    while begin < end_of_place:
        end = min(begin + rng.lognormvariate(10.6, 0.7), end_of_place)
        busy_end = begin + (end - begin) * rng.choice((0.0, 0.6, 1.0, 1.0))
        uid = f"{number:02}-{round_number:04}"
        name = {
            "job": f"train-{uid}",
            "set": f"model-{number}-0",
            "deployment": f"api-{number}-{rng.getrandbits(20):x}",
        }
        yield Pod(namespace, name[kind], uid, places, begin, busy_end, end)
        begin, round_number = end + 2 * MINUTE + rng.expovariate(1 / (40 * MINUTE)), round_number + 1
