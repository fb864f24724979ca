"""Hours of GPUs by day, node, namespace and team; pure arithmetic.

allocated   from the moment a pod has a node until it has ended: the scheduler's view, and the bill
attributed  of these, the hours of GPUs that the kubelet gave to a pod, as the exporter says: measured
active      of these, the share of the time in which the engine was busy
idle        of these, the time in which it was busy for less than 5 %
free        offered to pods, and allocated to none
unoffered   GPUs that no unit of a resource stands for: the rest of a MIG layout, GPUs that the device plugin dropped
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from gpustack.times import HOUR, format_day
from gpustack.vocabulary.basis import Basis

EMPTY_NAME = ""
MIN_COVERAGE = 0.95
"""Recorded share of the window, below which a report or a bill is incomplete."""


class Key(NamedTuple):
    """Identify a cell. `day` is in UTC, as 2026-10-01. `namespace` is None for GPUs that no pod had. `profile` is that
    of MIG. An unknown value is empty; `model` joins several names with + where a node has several."""

    day: str
    pool: str
    node: str
    model: str
    profile: str
    namespace: str | None
    team: str


@dataclass
class Hours:
    """Hold GPU-hours. `shared_hours` are the attributed hours of GPUs that pods share and of which each
    pod has the activity of the whole."""

    allocated: float = 0.0
    attributed: float = 0.0
    active: float = 0.0
    idle: float = 0.0
    free: float = 0.0
    unoffered: float = 0.0
    shared_hours: float = 0.0

    @property
    def total(self) -> float:
        return self.allocated + self.free + self.unoffered

    @property
    def unmeasured(self) -> float:
        """Return the allocated hours of which no exporter said what was done with them."""
        return max(0.0, self.allocated - self.attributed)

    @property
    def basis(self) -> dict[str, Basis]:
        """Return the basis of each figure. What pods did has none where no exporter named a pod, and is that of whole
        GPUs where pods share some."""
        activity: dict[str, Basis] = dict.fromkeys(ACTIVITY, "copied") if self.shared_hours else {}
        words: dict[str, Basis] = {**HOURS_BASIS, **activity}
        return {name: word for name, word in words.items() if self.attributed or name not in ACTIVITY}

    def add(self, hours: "Hours") -> None:
        for name in NAMES:
            setattr(self, name, getattr(self, name) + getattr(hours, name))


NAMES = tuple(column.name for column in fields(Hours))
ACTIVITY = ("active", "idle")
HOURS_BASIS: Mapping[str, Basis] = {
    "total": "derived",
    "allocated": "allocated",
    "attributed": "measured",
    "active": "measured",
    "idle": "measured",
    "unmeasured": "derived",
    "free": "derived",
    "unoffered": "derived",
}


@dataclass(frozen=True)
class Gap:
    """Hold hours of which nothing was recorded: seconds since 1970, without the end."""

    begin: int
    end: int


@dataclass(frozen=True)
class Queue:
    """Hold the queue of a namespace and team. `waited_units` are units times the hours that pods waited for them.
    `scheduled_pods` got a node after `waited_seconds` together; both are by namespace alone, with an empty team."""

    namespace: str
    team: str
    waited_units: float = 0.0
    scheduled_pods: float = 0.0
    waited_seconds: float = 0.0

    @property
    def basis(self) -> dict[str, Basis]:
        """Return the basis of each figure that is known."""
        known_names = ("waited_units",) if self.team else ("waited_units", "scheduled_pods", "waited_seconds")
        return dict.fromkeys(known_names, "allocated")


@dataclass(frozen=True)
class ContradictoryGpu:
    """Hold a GPU whose counters read 0 for some hours while the mean `value` of `witness`, utilisation or the share of
    the power limit, showed work."""

    node: str
    index: str
    witness: str
    hours: float
    value: float


@dataclass(frozen=True)
class Usage:
    """Hold the usage of a window. `recorded_hours` of `window_hours` are known; `bridged_hours` of these were part of
    an hour with gaps, and count as its rest. `source` describes the origin of the series. `unknown_units` are units of
    which nothing says how many GPUs they are, times hours, by node: they are in no figure. `impossible_hours` counts
    hours by series whose value cannot be. `gone_nodes` have the end of the last hour of nodes that offered GPUs, and do
    not at the end of the window. `contradictory_gpus` had profiling counters that read 0 while they worked. `units` has
    how many GPUs one unit was when that was last known, by node and resource. `doubts` are sentences."""

    begin: int
    end: int
    hours: Mapping[Key, Hours]
    queue: tuple[Queue, ...]
    window_hours: int
    recorded_hours: float
    bridged_hours: float
    gaps: tuple[Gap, ...]
    source: str
    unknown_units: Mapping[str, float] = field(default_factory=dict)
    impossible_hours: Mapping[str, int] = field(default_factory=dict)
    gone_nodes: Mapping[str, int] = field(default_factory=dict)
    contradictory_gpus: tuple[ContradictoryGpu, ...] = ()
    units: Mapping[tuple[str, str], float] = field(default_factory=dict)
    doubts: tuple[str, ...] = field(default=())

    def count_known_hours(self) -> dict[str, int]:
        """Count the hours of each day of the window, without its gaps."""
        counts: dict[str, int] = {}
        for hour in range(self.begin, self.end, HOUR):
            is_known = not any(gap.begin <= hour < gap.end for gap in self.gaps)
            counts[format_day(hour)] = counts.get(format_day(hour), 0) + is_known
        return counts

    @property
    def complete(self) -> bool:
        """Tell whether the figures are those of the window: nearly all of it was recorded, and nothing is left out."""
        return self.coverage >= MIN_COVERAGE and not self.unknown_units and not self.impossible_hours

    @property
    def coverage(self) -> float:
        return self.recorded_hours / self.window_hours if self.window_hours else 0.0


@dataclass(frozen=True)
class Row:
    """Hold the hours of a group; `names` are its values of the dimensions. A `namespace` of None is of GPUs that no pod
    had."""

    names: tuple[str, ...]
    hours: Hours


DIMENSIONS = ("day", "pool", "node", "model", "profile", "namespace", "team")


def group_hours(usage: Usage, dimensions: Iterable[str]) -> tuple[Row, ...]:
    """Group the hours by some of DIMENSIONS, sorted by their names. GPUs that no pod had have neither namespace nor
    team."""

    def select_values(key: Key) -> tuple[str, ...]:
        return tuple(getattr(key, dimension) or EMPTY_NAME for dimension in dimensions)

    groups: dict[tuple[str, ...], Hours] = {}
    for key, hours in usage.hours.items():
        groups.setdefault(select_values(key), Hours()).add(hours)
    return tuple(Row(names, hours) for names, hours in sorted(groups.items()))


def sum_hours(rows: Iterable[Row]) -> Hours:
    hours = Hours()
    for row in rows:
        hours.add(row.hours)
    return hours
