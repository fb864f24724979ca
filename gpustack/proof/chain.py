"""The judgement of a proof, which has three links per GPU: a pod ran a kernel on it, Prometheus has its series, and a
panel shows the same value.

The module is pure: it makes rows of the answers of nodes, pods, Prometheus and Grafana. A link is `failed` where the
answer differs, `unknown` where there is no answer, and `skipped` for a GPU that is in use.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from gpustack.proof.prometheus import Sample, Series
from gpustack.proof.workload import NAMESPACE, PodResult, VisibleGpu

Outcome = Literal["ok", "failed", "unknown", "skipped"]
LINKS = ("kernel", "series", "dashboard")
MARGIN = 2.0
"""Seconds by which a scrape may be late."""


@dataclass(frozen=True)
class Link:
    """Describe a link of the chain. `reason` is why it does not hold, and `note` is information about a link that
    holds."""

    outcome: Outcome
    reason: str = ""
    note: str = ""


HOLDS = Link("ok")


@dataclass(frozen=True)
class Place:
    """Describe a node of a proof. `gpus` are physical GPUs, None where the node cannot tell (MIG); `devices` are NVIDIA
    devices on the PCI bus of the host, None where the host gave no answer; `busy` are GPUs in use by pods; `replicas`
    are shares per GPU. `closed_reason` is why the node takes no pods. `gate` is the cause in gpustack's own taint, None
    without it."""

    node: str
    gpus: int | None
    capacity: int
    allocatable: int
    busy: int = 0
    devices: int | None = None
    replicas: int = 1
    model: str = ""
    closed_reason: str = ""
    gate: str | None = None

    @property
    def shared(self) -> bool:
        return self.replicas > 1 or self.gpus is None

    @property
    def pod_count(self) -> int:
        """Return the number of free GPUs. With replicas it is at most the number of GPUs, as the plugin spreads the
        pods."""
        free = max(self.allocatable - self.busy, 0)
        if self.closed_reason:
            return 0
        if self.replicas > 1 and self.gpus is not None:
            return min(free, self.gpus)
        return free


@dataclass(frozen=True)
class PanelComparison:
    """Hold the time and value of the last point of a panel by UUID, and the values of Prometheus at these times."""

    panel: Mapping[str, tuple[float, float]]
    truth: Mapping[str, float]


@dataclass(frozen=True)
class ProofAnswers:
    """Hold the answers to judge. A text in place of an answer is the reason why it is missing. `refusal` is the error
    of Grafana for a data source that is missing or fails."""

    places: Sequence[Place]
    pods: Sequence[PodResult]
    series: Series | str
    comparison: PanelComparison | str
    refusal: str = ""


@dataclass(frozen=True)
class Row:
    """Describe a GPU and its links. `uuid`, `index` and `bus` are empty where they are unknown."""

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


def judge(answers: ProofAnswers) -> tuple[Row, ...]:
    """Judge the answers, and return a row per GPU in the order of nodes and PCI addresses. GPUs without a UUID are
    last."""
    named_uuids = {visible.uuid for pod in answers.pods for visible in pod.gpus if len(pod.gpus) == 1}
    rows = [row for place in answers.places for row in judge_node(place, answers, named_uuids)]
    order = {place.node: position for position, place in enumerate(answers.places)}
    return tuple(sorted(rows, key=lambda row: (order[row.node], not row.uuid, row.bus, row.index, row.uuid)))


def judge_node(place: Place, answers: ProofAnswers, named_uuids: set[str]) -> list[Row]:
    node_results = [pod for pod in answers.pods if pod.node == place.node]
    results_by_uuid: dict[str, list[PodResult]] = {}
    for pod_result in node_results:
        if len(pod_result.gpus) == 1:
            results_by_uuid.setdefault(pod_result.gpus[0].uuid, []).append(pod_result)
    rows = [judge_visible_gpu(place, uuid, pods, answers) for uuid, pods in results_by_uuid.items()]
    reasons = Reasons.build_reasons(place, [pod for pod in node_results if len(pod.gpus) != 1])
    for newest in find_untested_gpus(place, answers.series, named_uuids):
        row = Row(place.node, newest.uuid, reasons.explain_sample(newest), bus=newest.bus, model=place.model)
        rows.append(add_monitoring(row, answers, None, ()))
    counts = [] if place.gpus is None else [count for count in (place.gpus, place.devices) if count is not None]
    expected_count = max(counts, default=0)
    missing = max(expected_count - len(rows), len(reasons.failed_links) if not rows and not expected_count else 0)
    rows += [Row(place.node, "", reasons.take_reason(), model=place.model) for _ in range(missing)]
    return rows


def judge_visible_gpu(place: Place, uuid: str, pods: Sequence[PodResult], answers: ProofAnswers) -> Row:
    """Judge a GPU that one pod ran on, or several pods where it is shared."""
    visible = pods[0].gpus[0]
    bad = next((pod for pod in pods if pod.ran is False), None)
    unsure = next((pod for pod in pods if pod.ran is None), None)
    kernel = Link("failed", bad.reason) if bad else Link("unknown", unsure.reason) if unsure else HOLDS
    row = Row(place.node, uuid, kernel, bus=visible.bus, model=visible.model)
    return add_monitoring(row, answers, visible, [pod.name for pod in pods])


def add_monitoring(row: Row, answers: ProofAnswers, visible: VisibleGpu | None, pods: Sequence[str]) -> Row:
    """Add the links of the monitoring to a row, and the index and model of the exporter."""
    newest = next(iter(answers.series.list_samples(row.uuid)), None) if isinstance(answers.series, Series) else None
    return replace(
        row,
        series=judge_series(row, answers, visible, pods),
        panel=judge_panel(row.uuid, answers),
        index=newest.index if newest else "",
        model=row.model or (newest.model if newest else ""),
    )


def find_untested_gpus(place: Place, series: Series | str, named_uuids: set[str]) -> list[Sample]:
    """Find the GPUs of a node that have a series and that no pod ran on. Return the newest sample of each, which names
    its user."""
    if isinstance(series, str):
        return []
    newest = [
        series.list_samples(uuid)[0]
        for uuid in dict.fromkeys(sample.uuid for sample in series.samples)
        if uuid not in named_uuids
    ]
    return [sample for sample in newest if sample.node == place.node]


def judge_series(row: Row, answers: ProofAnswers, visible: VisibleGpu | None, pods: Sequence[str]) -> Link:
    series = answers.series
    if isinstance(series, str):
        return Link("unknown", series)
    samples = series.list_samples(row.uuid)
    if not samples:
        return Link("failed", f"Prometheus has no series with this UUID{describe_failure(series)}")
    newest = samples[0]
    if newest.node and newest.node != row.node:
        return Link("failed", f"Prometheus has this UUID on {newest.node}, the pod ran on {row.node}")
    if visible and newest.bus and visible.bus and newest.bus != visible.bus:
        return Link("failed", f"Prometheus has this UUID at {newest.bus}, the pod ran on {visible.bus}")
    interval = series.find_interval(newest)
    age = series.timestamp - newest.timestamp
    if age > 2 * interval + MARGIN:
        scrape = (series.scrapes or {}).get(newest.target)
        error = f"; the last scrape failed: {scrape.error}" if scrape and scrape.error else ""
        return Link("failed", f"its newest sample is {age:.0f} s old, and it is scraped every {interval:.0f} s{error}")
    fresh = [sample for sample in samples if series.timestamp - sample.timestamp <= 2 * interval + MARGIN]
    return Link("ok", note=describe_user(fresh, pods))


def describe_failure(series: Series) -> str:
    """Describe the cause of a missing series: no GPU has one, or a scrape of the exporters failed."""
    if not series.samples:
        return ", nor of any other GPU"
    targets = {sample.target for sample in series.samples}
    errors = [scrape.error for target, scrape in (series.scrapes or {}).items() if target in targets and scrape.error]
    return f"; a scrape failed: {errors[0]}" if errors else ""


def describe_user(samples: Sequence[Sample], pods: Sequence[str]) -> str:
    """Describe the user of the GPU by the labels of the exporter, and targets that are scraped twice. The text is a
    note."""
    targets = sorted({sample.target for sample in samples})
    twice = f"it is scraped twice, as {' and '.join(targets)}" if len(targets) > 1 else ""
    owners = {sample.owner.rpartition("/")[2] for sample in samples if sample.owner}
    usage = ""
    if pods and not owners:
        usage = "the exporter names no pod that uses it"
    elif pods and not owners & set(pods):
        usage = f"the exporter says that {', '.join(sorted(owners))} uses it"
    return "; ".join(part for part in (twice, usage) if part)


def judge_panel(uuid: str, answers: ProofAnswers) -> Link:
    comparison = answers.comparison
    if answers.refusal:
        return Link("failed", answers.refusal)
    if isinstance(comparison, str):
        return Link("unknown", comparison)
    if (point := comparison.panel.get(uuid)) is None:
        if isinstance(answers.series, Series) and answers.series.list_samples(uuid):
            return Link("failed", "the dashboard has no such series, and Prometheus has")
        return Link("unknown", "there is no series that it could show")
    if (truth := comparison.truth.get(uuid)) is None:
        return Link("failed", f"the dashboard shows {point[1]:g}, and Prometheus has no such value at that time")
    if truth != point[1]:
        return Link("failed", f"the dashboard shows {point[1]:g}, and Prometheus has {truth:g} at that time")
    return HOLDS


@dataclass
class Reasons:
    """Hold the reasons why no pod ran on GPUs of a node. A reason is taken once per GPU that it explains, and
    `default_link` is used when no reason is left."""

    failed_links: list[Link]
    withdrawn_count: int
    busy: int
    default_link: Link

    @classmethod
    def build_reasons(cls, place: Place, pods: Sequence[PodResult]) -> "Reasons":
        withdrawn_count = 0 if place.closed_reason else count_withdrawn(place)
        return cls([explain_pod(pod) for pod in pods], withdrawn_count, place.busy, explain_rest(place))

    def explain_sample(self, sample: Sample) -> Link:
        """Explain a GPU that the exporter knows. Its user is preferred to other reasons."""
        if self.busy and sample.owner and not sample.owner.startswith(f"{NAMESPACE}/"):
            self.busy -= 1
            return Link("skipped", f"in use by {sample.owner}")
        return self.take_reason()

    def take_reason(self) -> Link:
        if self.failed_links:
            return self.failed_links.pop(0)
        if self.withdrawn_count:
            self.withdrawn_count -= 1
            return Link("failed", "the kubelet offers one GPU less than it has: unhealthy, or lost")
        if self.busy:
            self.busy -= 1
            return Link("skipped", "in use")
        return self.default_link


def explain_pod(pod_result: PodResult) -> Link:
    """Explain the link of a pod that did not name exactly one GPU."""
    return Link("failed" if pod_result.stage == "ended" or pod_result.ran is False else "unknown", pod_result.reason)


def count_withdrawn(place: Place) -> int:
    """Count the GPUs that the kubelet has withdrawn. An unhealthy device is in the capacity and is not allocatable."""
    return 0 if place.shared else max(place.capacity - place.allocatable, 0)


def explain_rest(place: Place) -> Link:
    if place.closed_reason:
        return Link("unknown", place.closed_reason)
    if place.devices is not None and place.gpus is not None and place.devices > place.gpus:
        return Link("failed", f"the host has {place.devices} NVIDIA devices, the node offers {place.gpus}")
    if place.shared and place.capacity > place.allocatable:
        reason = (
            f"it was dealt out to no pod; {place.capacity - place.allocatable} of {place.capacity} shares are withdrawn"
        )
        return Link("failed", reason)
    return Link("unknown", "it was dealt out to no pod")
