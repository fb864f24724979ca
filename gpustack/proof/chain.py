"""GPU by GPU, whether the chain holds: a pod ran a kernel on it, Prometheus has a series of it, a panel shows the same.

Pure: answers of nodes, pods, Prometheus and Grafana go in, rows come out. A link is `failed` where the answer is
another, `unknown` where there is none, `skipped` for a GPU in use: it is not taken away from its user.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from gpustack.proof.prometheus import Sample, Series
from gpustack.proof.workload import NAMESPACE, PodResult, VisibleGpu

Outcome = Literal["ok", "failed", "unknown", "skipped"]
LINKS = ("kernel", "series", "dashboard")
MARGIN = 2.0
"""Seconds that a scrape may take beyond its time."""


@dataclass(frozen=True)
class Link:
    """`why` says why it does not hold; `note` what is worth knowing though it holds."""

    outcome: Outcome
    why: str = ""
    note: str = ""


HOLDS = Link("ok")


@dataclass(frozen=True)
class Place:
    """A node as a proof sees it. `gpus` are physical GPUs, None when the node cannot tell (MIG); `devices` those on the
    host's PCI bus, None when the host was not asked; `busy` those that pods use; `wanted` pods were to be made there;
    `closed` says why none could."""

    node: str
    gpus: int | None
    capacity: int
    allocatable: int
    busy: int = 0
    devices: int | None = None
    replicas: int = 1
    model: str = ""
    closed: str = ""

    @property
    def shared(self) -> bool:
        return self.replicas > 1 or self.gpus is None

    @property
    def wanted(self) -> int:
        """As many pods as there are GPUs free; of replicas no more than GPUs, for the plugin deals them out evenly."""
        free = max(self.allocatable - self.busy, 0)
        return 0 if self.closed else min(free, self.gpus) if self.replicas > 1 and self.gpus is not None else free


@dataclass(frozen=True)
class Shown:
    """What a panel showed: by UUID the time and value of its last point, and the value of Prometheus at that time."""

    panel: Mapping[str, tuple[float, float]]
    truth: Mapping[str, float]


@dataclass(frozen=True)
class Asked:
    """All answers. A text instead of an answer is why there is none; `refusal` is Grafana's answer where
    that is no value: the data source is not there, or fails."""

    places: Sequence[Place]
    pods: Sequence[PodResult]
    series: Series | str
    shown: Shown | str
    refusal: str = ""


@dataclass(frozen=True)
class Row:
    """A GPU. `uuid` is empty when it is unknown; `index` and `bus` as far as they are known."""

    node: str
    uuid: str
    kernel: Link
    series: Link = field(default=Link("unknown", "its UUID is unknown"))
    panel: Link = field(default=Link("unknown", "its UUID is unknown"))
    index: str = ""
    bus: str = ""
    model: str = ""

    @property
    def links(self) -> tuple[tuple[str, Link], ...]:
        return (("kernel", self.kernel), ("series", self.series), ("dashboard", self.panel))


def judge(asked: Asked) -> tuple[Row, ...]:
    """In the order of nodes, then of PCI addresses; GPUs without a UUID come last."""
    named = {visible.uuid for one in asked.pods for visible in one.visible if len(one.visible) == 1}
    rows = [row for place in asked.places for row in judge_node(place, asked, named)]
    order = {place.node: at for at, place in enumerate(asked.places)}
    return tuple(sorted(rows, key=lambda row: (order[row.node], not row.uuid, row.bus, row.index, row.uuid)))


def judge_node(place: Place, asked: Asked, named: set[str]) -> list[Row]:
    mine = [one for one in asked.pods if one.node == place.node]
    met: dict[str, list[PodResult]] = {}
    for one in mine:
        if len(one.visible) == 1:
            met.setdefault(one.visible[0].uuid, []).append(one)
    rows = [judge_met(place, uuid, pods, asked) for uuid, pods in met.items()]
    reasons = Reasons.of(place, [one for one in mine if len(one.visible) != 1])
    for newest in find_unmet(place, asked.series, named):
        row = Row(place.node, newest.uuid, reasons.of_sample(newest), bus=newest.bus, model=place.model)
        rows.append(add_monitoring(row, asked, None, ()))
    wanted = max(place.gpus or 0, place.devices or 0 if place.gpus is not None else 0)
    missing = max(wanted - len(rows), len(reasons.failed) if not rows and not wanted else 0)
    rows += [Row(place.node, "", reasons.next(), model=place.model) for _ in range(missing)]
    return rows


def judge_met(place: Place, uuid: str, pods: Sequence[PodResult], asked: Asked) -> Row:
    """A GPU that one pod or, where it is shared, several pods met."""
    visible = pods[0].visible[0]
    bad = next((one for one in pods if one.ran is False), None)
    unsure = next((one for one in pods if one.ran is None), None)
    kernel = Link("failed", bad.why) if bad else Link("unknown", unsure.why) if unsure else HOLDS
    row = Row(place.node, uuid, kernel, bus=visible.bus, model=visible.model)
    return add_monitoring(row, asked, visible, [one.pod for one in pods])


def add_monitoring(row: Row, asked: Asked, visible: VisibleGpu | None, pods: Sequence[str]) -> Row:
    """The links that the monitoring shows, and the names that the exporter has."""
    newest = next(iter(asked.series.of(row.uuid)), None) if isinstance(asked.series, Series) else None
    return replace(
        row,
        series=judge_series(row, asked, visible, pods),
        panel=judge_panel(row.uuid, asked),
        index=newest.index if newest else "",
        model=row.model or (newest.model if newest else ""),
    )


def find_unmet(place: Place, found: Series | str, named: set[str]) -> list[Sample]:
    """GPUs of a node that have a series and met no pod anywhere: the newest sample of each, which says whose it is."""
    if isinstance(found, str):
        return []
    newest = [found.of(uuid)[0] for uuid in dict.fromkeys(one.uuid for one in found.samples) if uuid not in named]
    return [one for one in newest if one.node == place.node]


def judge_series(row: Row, asked: Asked, visible: VisibleGpu | None, pods: Sequence[str]) -> Link:
    found = asked.series
    if isinstance(found, str):
        return Link("unknown", found)
    mine = found.of(row.uuid)
    if not mine:
        return Link("failed", f"Prometheus has no series with this UUID{describe_failure(found)}")
    newest = mine[0]
    if newest.node and newest.node != row.node:
        return Link("failed", f"Prometheus has this UUID on {newest.node}, the pod ran on {row.node}")
    if visible and newest.bus and visible.bus and newest.bus != visible.bus:
        return Link("failed", f"Prometheus has this UUID at {newest.bus}, the pod ran on {visible.bus}")
    every = found.interval_of(newest)
    age = found.now - newest.at
    if age > 2 * every + MARGIN:
        failed = (found.scrapes or {}).get(newest.target)
        error = f"; the last scrape failed: {failed.error}" if failed and failed.error else ""
        return Link("failed", f"its newest sample is {age:.0f} s old, and it is scraped every {every:.0f} s{error}")
    fresh = [one for one in mine if found.now - one.at <= 2 * every + MARGIN]
    return Link("ok", note=describe_user(fresh, pods))


def describe_failure(found: Series) -> str:
    """Where no GPU has any, that is the cause of all; else what failed of the exporters' targets."""
    if not found.samples:
        return ", nor of any other GPU"
    mine = {one.target for one in found.samples}
    errors = [one.error for target, one in (found.scrapes or {}).items() if target in mine and one.error]
    return f"; a scrape failed: {errors[0]}" if errors else ""


def describe_user(mine: Sequence[Sample], pods: Sequence[str]) -> str:
    """Whose the exporter says the GPU is: to be known, and no link of its own."""
    targets = sorted({one.target for one in mine})
    twice = f"it is scraped twice, as {' and '.join(targets)}" if len(targets) > 1 else ""
    owners = {one.owner.rpartition("/")[2] for one in mine if one.owner}
    whose = ""
    if pods and not owners:
        whose = "the exporter names no pod that uses it"
    elif pods and not owners & set(pods):
        whose = f"the exporter says that {', '.join(sorted(owners))} uses it"
    return "; ".join(part for part in (twice, whose) if part)


def judge_panel(uuid: str, asked: Asked) -> Link:
    shown = asked.shown
    if asked.refusal:
        return Link("failed", asked.refusal)
    if isinstance(shown, str):
        return Link("unknown", shown)
    if (point := shown.panel.get(uuid)) is None:
        if isinstance(asked.series, Series) and asked.series.of(uuid):
            return Link("failed", "the dashboard has no such series, and Prometheus has")
        return Link("unknown", "there is no series that it could show")
    if (truth := shown.truth.get(uuid)) is None:
        return Link("failed", f"the dashboard shows {point[1]:g}, and Prometheus has no such value at that time")
    if truth != point[1]:
        return Link("failed", f"the dashboard shows {point[1]:g}, and Prometheus has {truth:g} at that time")
    return HOLDS


@dataclass
class Reasons:
    """Why GPUs of a node met no pod, each reason as often as there are GPUs that it explains. The last
    reason is unknown."""

    failed: list[Link]
    gone: int
    busy: int
    other: Link

    @classmethod
    def of(cls, place: Place, pods: Sequence[PodResult]) -> "Reasons":
        gone = 0 if place.closed else count_withdrawn(place)
        return cls([explain_pod(one) for one in pods], gone, place.busy, explain_rest(place))

    def of_sample(self, sample: Sample) -> Link:
        """A GPU that the exporter knows: its user is the best reason."""
        if self.busy and sample.owner and not sample.owner.startswith(f"{NAMESPACE}/"):
            self.busy -= 1
            return Link("skipped", f"in use by {sample.owner}")
        return self.next()

    def next(self) -> Link:
        if self.failed:
            return self.failed.pop(0)
        if self.gone:
            self.gone -= 1
            return Link("failed", "the kubelet offers one GPU less than it has: unhealthy, or lost")
        if self.busy:
            self.busy -= 1
            return Link("skipped", "in use")
        return self.other


def explain_pod(one: PodResult) -> Link:
    """Of a pod that named no single GPU."""
    return Link("failed" if one.stage == "failed" or one.ran is False else "unknown", one.why)


def count_withdrawn(place: Place) -> int:
    """GPUs that the kubelet has withdrawn: a device that was reported ill keeps its place in the capacity."""
    return 0 if place.shared else max(place.capacity - place.allocatable, 0)


def explain_rest(place: Place) -> Link:
    if place.closed:
        return Link("unknown", place.closed)
    if place.devices is not None and place.gpus is not None and place.devices > place.gpus:
        return Link("failed", f"the host has {place.devices} NVIDIA devices, the node offers {place.gpus}")
    if place.shared and place.capacity > place.allocatable:
        why = (
            f"it was dealt out to no pod; {place.capacity - place.allocatable} of {place.capacity} shares are withdrawn"
        )
        return Link("failed", why)
    return Link("unknown", "it was dealt out to no pod")
