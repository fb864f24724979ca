"""Kinds of work: its size, its length, when people start it, and how long they wait for it.

Traps: a notebook, or a pod that only sleeps, holds GPUs that do nothing; a pod has eight GPUs and uses four; finished
pods of Jobs stay for hours and keep their series of requests (kube-state-metrics lists a pod until it is deleted); a
StatefulSet's next pod has the name of its last; a job runs for weeks and began before the window.
"""

import random
from dataclasses import dataclass
from math import exp

from tests.worlds.life.clock import DAY, HOUR


@dataclass(frozen=True)
class Kind:
    """`hours` is the median of a log-normal time with `spread`. `sizes`: requested units, with weights. `patience`: the
    median of the hours after which its owner gives up waiting. Priority classes do not preempt others
    (preemptionPolicy: Never)."""

    name: str
    owner: str
    hours: float
    spread: float
    sizes: tuple[tuple[int, float], ...] = ((1, 1.0),)
    office: bool = False
    priority: int = 0
    patience: float = 40.0
    linger: float = 0.0

    @property
    def mean(self) -> float:
        """Seconds."""
        return self.hours * exp(self.spread**2 / 2) * HOUR

    def list_units(self, max_units: int) -> tuple[tuple[int, float], ...]:
        return tuple((size, weight) for size, weight in self.sizes if size <= max_units)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("train", "Job", 9, 0.8, ((1, 0.4), (2, 0.35), (4, 0.2), (8, 0.05)), office=True, linger=24),
        Kind("sweep", "Job", 8, 0.7, linger=6),
        Kind("serve", "ReplicaSet", 200, 0.5, priority=100, patience=1000),
        Kind("notebook", "StatefulSet", 20, 0.8, office=True, priority=50, patience=5),
        Kind("sleep", "", 30, 0.6, ((1, 0.7), (2, 0.3)), office=True, patience=10),
    )
}
# Shares of the demand for a pool.
MIX = {
    "h100": {"train": 0.5, "sweep": 0.15, "serve": 0.2, "notebook": 0.1, "sleep": 0.05},
    "l40s": {"train": 0.25, "sweep": 0.2, "serve": 0.4, "notebook": 0.1, "sleep": 0.05},
    "mig": {"sweep": 0.2, "serve": 0.3, "notebook": 0.5},
    "shared": {"sweep": 0.2, "serve": 0.4, "notebook": 0.4},
}


def compute_hour_weight(kind: Kind, moment: float) -> float:
    """Weight of an hour; its mean over a week is 1. People start work from 8 to 18 h UTC, and less at weekends."""
    if not kind.office:
        return 1.0
    day, hour = int(moment // DAY), moment % DAY / HOUR
    weekend = (day + 3) % 7 >= 5  # 1970-01-01 was a Thursday
    return (1.6 if 8 <= hour < 18 else 0.5) * (0.35 if weekend else 1.0) / 0.780


@dataclass(frozen=True)
class Growth:
    """Hold the growth of the arrivals for a pool. `form`: flat, linear, step or falling; `rate` is what sixty days add,
    as a share."""

    form: str
    level: float
    rate: float = 0.0
    day: float = 0.0

    def compute_factor(self, day: float) -> float:
        if self.form == "step":
            return 1 + self.rate * (day >= self.day)
        return max(0.1, 1 + self.rate * max(0.0, day) / 60)


def draw_growth(rng: random.Random) -> Growth:
    """`level` is the demand at the start as a share of what the pool has."""
    form = rng.choices(("flat", "linear", "step", "falling"), (0.2, 0.5, 0.15, 0.15))[0]
    level = rng.uniform(0.2, 0.55)
    rates = {"flat": (0, 0), "linear": (0.4, 2.5), "step": (0.3, 1.2), "falling": (-0.6, -0.2)}
    return Growth(form, level, rng.uniform(*rates[form]), rng.uniform(15, 50))
