"""Hours of GPUs by day, node, namespace and team; pure arithmetic.

allocated   from the moment a pod has a node until it has ended: the scheduler's view, and the bill
attributed  of these, what the kubelet gave to a pod, as the exporter says: measured
active      of these, the share of the time in which the engine was busy
idle        of these, the time in which it was busy for less than 5 %
free        offered to pods, and allocated to none
unoffered   GPUs that no unit of a resource stands for: the rest of a MIG layout, GPUs that the device plugin dropped
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from gpustack.capacity.window import HOUR, day_of

UNNAMED = ""


class Key(NamedTuple):
    """`day` is in UTC, as 2026-10-01. `namespace` is None for what no pod has. `profile` is of MIG. What is not known
    is empty; `model` is several names with + where a node has several."""

    day: str
    pool: str
    node: str
    model: str
    profile: str
    namespace: str | None
    team: str


@dataclass
class Hours:
    """GPU-hours."""

    allocated: float = 0.0
    attributed: float = 0.0
    active: float = 0.0
    idle: float = 0.0
    free: float = 0.0
    unoffered: float = 0.0

    @property
    def total(self) -> float:
        return self.allocated + self.free + self.unoffered

    @property
    def unmeasured(self) -> float:
        """Allocated, and no exporter said what was done with it."""
        return max(0.0, self.allocated - self.attributed)

    def add(self, other: "Hours") -> None:
        for one in NAMES:
            setattr(self, one, getattr(self, one) + getattr(other, one))


NAMES = tuple(one.name for one in fields(Hours))


@dataclass(frozen=True)
class Gap:
    """Hours that nothing was recorded of: seconds since 1970, the end not part of it."""

    begin: int
    end: int


@dataclass(frozen=True)
class Queue:
    """Of a namespace and team: units times the hours that pods waited for them; pods that got a node, and how long all
    of them waited together, in seconds (by namespace alone: with the team that is empty)."""

    namespace: str
    team: str
    waited_units: float = 0.0
    scheduled: float = 0.0
    waited: float = 0.0


@dataclass(frozen=True)
class Usage:
    """`recorded` hours of `asked` are known; `bridged` of these were part of an hour that has gaps, and stand for it.
    `source` says where the series are from. `shared` GPU-hours were of GPUs that pods share. `doubts` are sentences."""

    begin: int
    end: int
    hours: Mapping[Key, Hours]
    queue: tuple[Queue, ...]
    asked: int
    recorded: float
    bridged: float
    gaps: tuple[Gap, ...]
    source: str
    shared: float = 0.0
    doubts: tuple[str, ...] = field(default=())

    def known_hours(self) -> dict[str, int]:
        """Of each day that was asked for, those without its gaps."""
        found: dict[str, int] = {}
        for hour in range(self.begin, self.end, HOUR):
            known = not any(gap.begin <= hour < gap.end for gap in self.gaps)
            found[day_of(hour)] = found.get(day_of(hour), 0) + known
        return found

    @property
    def coverage(self) -> float:
        return self.recorded / self.asked if self.asked else 0.0


@dataclass(frozen=True)
class Row:
    """`names` are the values of what was grouped by. `namespace` None is what no pod had."""

    names: tuple[str, ...]
    hours: Hours


DIMENSIONS = ("day", "pool", "node", "model", "profile", "namespace", "team")


def group(usage: Usage, by: Iterable[str]) -> tuple[Row, ...]:
    """By some of DIMENSIONS, in their order of names. What no pod has has no namespace and no team."""
    of: Callable[[Key], tuple[str, ...]] = lambda key: tuple(getattr(key, one) or UNNAMED for one in by)  # noqa: E731
    found: dict[tuple[str, ...], Hours] = {}
    for key, hours in usage.hours.items():
        found.setdefault(of(key), Hours()).add(hours)
    return tuple(Row(names, hours) for names, hours in sorted(found.items()))


def total(rows: Iterable[Row]) -> Hours:
    found = Hours()
    for row in rows:
        found.add(row.hours)
    return found
