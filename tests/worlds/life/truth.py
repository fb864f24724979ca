"""The truth about a life, from pods and nodes alone, never from samples.

Allocated is what a pod keeps from others: from its binding until its containers have ended. Attributed is what the
exporter can name the pod of. Busy is allocated time with a kernel of this pod, per unit; active is the same weighted
with the share of the time that the engine was busy; idle is allocated and not busy.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tests.worlds.life.activity import Work, draw_work
from tests.worlds.life.attribution import find_owners
from tests.worlds.life.clock import DAY, HOUR, Span, cut, subtract_spans
from tests.worlds.life.hardware import Node, Pool
from tests.worlds.life.pod import Pod
from tests.worlds.life.steps import Steps

Key = tuple[str, ...]


@dataclass(frozen=True)
class Wait:
    """`bound` is False where the pod gave up, or waits still; `seconds` are those until then."""

    pod: Pod
    seconds: float
    bound: bool


@dataclass(repr=False)
class Truth:
    """Hold the truth from `start` to `end`, in seconds since 1970; `days` of it are known, the rest is what comes."""

    seed: int
    start: float
    days: int
    end: float
    pools: Sequence[Pool]
    nodes: Sequence[Node]
    pods: Sequence[Pod]
    virtual_gpus: bool
    works: dict[str, list[Work]] = field(default_factory=dict)

    @property
    def known_end(self) -> float:
        return self.start + self.days * DAY

    def compute_hours(
        self,
        names: Sequence[str] = (),
        quantity: str = "allocated",
        *,
        begin: float | None = None,
        end: float | None = None,
        unit: str = "gpus",
        holes: Sequence[Span] = (),
        of: Callable[[Pod], bool] = lambda pod: True,
    ) -> dict[Key, float]:
        """GPU-hours of pods by names of their attributes: namespace, team, label, pool, model, resource, kind, on, uid.

        `quantity`: allocated, attributed, busy, active or idle. `unit`: `gpus`, where a MIG instance or a share
        counts as its part of a GPU, or `units` of the resource. `holes` count as if they had not been. All of the
        known days, unless `begin` and `end` say otherwise.
        """
        begin, end = self.start if begin is None else begin, self.known_end if end is None else end
        hours: dict[Key, float] = defaultdict(float)
        for pod in self.pods:
            if pod.binding < end and pod.end > begin and of(pod):
                spans = subtract_spans(max(pod.binding, begin), min(pod.end, end), list(holes))
                share = pod.pool.share if unit == "gpus" else 1.0
                key = tuple(pod.pool.name if name == "pool" else str(getattr(pod, name)) for name in names)
                hours[key] += share * self.compute_unit_seconds(pod, spans, quantity) / HOUR
        return dict(hours)

    def compute_unit_seconds(self, pod: Pod, spans: Sequence[Span], quantity: str) -> float:
        seconds = sum(end - begin for begin, end in spans)
        if quantity == "allocated":
            return pod.units * seconds
        if quantity == "attributed":
            named_spans = self.named_spans.get(pod.uid, [])
            return sum(cut(*span_of_name, *span) for span_of_name in named_spans for span in spans)
        works = [
            (min(last, end) - max(first, begin), level)
            for begin, end in spans
            for first, last, level in self.draw_work(pod)
            if first < end and last > begin
        ]
        if quantity == "active":
            return pod.used_units * sum(seconds * level for seconds, level in works)
        busy = pod.used_units * sum(seconds for seconds, _ in works)
        return {"busy": busy, "idle": pod.units * seconds - busy}[quantity]

    def draw_work(self, pod: Pod) -> list[Work]:
        if pod.uid not in self.works:
            self.works[pod.uid] = draw_work(self.seed, pod, self.end)
        return self.works[pod.uid]

    @cached_property
    def named_spans(self) -> dict[str, list[Span]]:
        """Map the uid of a pod to the spans in which the exporter names it, for each unit."""
        spans_by_uid: dict[str, list[Span]] = defaultdict(list)
        for owner_spans in find_owners(self.pods, virtual=self.virtual_gpus).values():
            for begin, end, pod, _ in owner_spans:
                spans_by_uid[pod.uid].append((begin, end))
        return spans_by_uid

    def list_waits(self, pool: str = "", begin: float | None = None, end: float | None = None) -> list[Wait]:
        """List waits of the pods created in this time, in that order, as known at the end of the known days."""
        begin, end = self.start if begin is None else begin, self.known_end if end is None else end
        return [
            Wait(pod, min(pod.binding, pod.deletion, self.known_end) - pod.creation, pod.binding <= self.known_end)
            for pod in self.pods
            if begin <= pod.creation < end and pool in ("", pod.pool.name)
        ]

    def build_steps(self, pool: str, quantity: str) -> Steps:
        """Units over time. `quantity`: capacity (registered), allocatable (without broken GPUs), schedulable (without
        cordoned nodes too), allocated, queued (waiting), or demand: all that would run at once in a cluster that is
        never full, never fails, and that nobody leaves."""
        mine = [pod for pod in self.pods if pod.pool.name == pool]
        nodes = [node for node in self.nodes if node.pool.name == pool]
        spans: dict[str, Callable[[], Iterable[tuple[float, float, float]]]] = {
            "capacity": lambda: list_capacity(nodes),
            "allocatable": lambda: (*list_capacity(nodes), *subtract_broken(nodes)),
            "schedulable": lambda: (span for node in nodes for span in count_schedulable(node)),
            "allocated": lambda: ((pod.binding, pod.end, pod.units) for pod in mine),
            "queued": lambda: ((pod.creation, min(pod.binding, pod.deletion), pod.units) for pod in mine),
            "demand": lambda: (
                (pod.creation, pod.creation + pod.pull + pod.seconds, pod.units)
                for pod in mine
                if not pod.is_replacement
            ),
        }
        return Steps(spans[quantity]())

    def compute_hourly_values(
        self, pool: str, quantity: str, measure: str = "mean", end: float | None = None
    ) -> list[float]:
        """Compute each hour of the known days, or until then; `measure` is mean or peak."""
        return self.build_steps(pool, quantity).compute_hourly_values(
            self.start, self.known_end if end is None else end, measure
        )

    def find_full_day(
        self, pool: str, *, quantity: str = "demand", hours: int = 1, reserve: float = 0.0, first_day: int = 0
    ) -> int | None:
        """The first day from `first_day` on, counted from 0, with so many hours of which the mean reaches what can be
        scheduled, less a reserve in units; None where no day of the whole life has, those that come included."""
        room = self.compute_hourly_values(pool, "schedulable", end=self.end)
        demand = self.compute_hourly_values(pool, quantity, end=self.end)
        full = [demand_of_hour >= available - reserve for demand_of_hour, available in zip(demand, room, strict=True)]
        return next(
            (day for day in range(first_day, len(full) // 24) if sum(full[day * 24 : day * 24 + 24]) >= hours), None
        )


def list_capacity(nodes: Iterable[Node]) -> list[tuple[float, float, float]]:
    return [(begin, end, node.pool.slots) for node in nodes for begin, end in node.up_spans]


def subtract_broken(nodes: Iterable[Node]) -> list[tuple[float, float, float]]:
    return [
        (max(begin, up_begin), min(end, up_end), -1.0)
        for node in nodes
        for _, begin, end in node.broken_slots
        for up_begin, up_end in node.up_spans
    ]


def count_schedulable(node: Node) -> list[tuple[float, float, float]]:
    open_spans = [span for up_span in node.up_spans for span in subtract_spans(*up_span, node.cordoned_spans)]
    lost_pieces = [
        (max(begin, open_begin), min(end, open_end), -1.0)
        for _, begin, end in node.broken_slots
        for open_begin, open_end in open_spans
    ]
    return [*((begin, end, float(node.pool.slots)) for begin, end in open_spans), *lost_pieces]
