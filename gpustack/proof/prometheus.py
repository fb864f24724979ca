"""Series of GPUs in Prometheus: the newest samples with their node and scrape interval, and the values at a time.

Raw samples are queried (`name[5m]`), not an instant value. An instant value would hide for five minutes that a series
has ended, and its time would be the time of the query.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from gpustack.ask.probe import UNREADABLE
from gpustack.errors import GpustackError
from gpustack.metrics import prometheus as metrics
from gpustack.metrics.gpus import extract_gpu, extract_owner
from gpustack.metrics.prometheus import Prometheus as Client
from gpustack.proof.http import NoAnswer
from gpustack.proof.workload import normalize_bus
from gpustack.times import parse_duration
from gpustack.vocabulary.labels import HOSTS

# The first metric that most GPUs have is used. The default list of the exporter has always had these under these names.
METRICS = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE")
USUAL_INTERVAL = 30.0
LOOKBACK_SECONDS = 300
"""Seconds of samples to read. A series that has ended is read for so long, with the time of its end."""


@dataclass(frozen=True)
class Sample:
    """Describe the newest sample of a series. `timestamp` is in seconds of Prometheus' clock. `node` and `bus` are
    empty without a label. `owner` is the pod that uses the GPU by the labels of the exporter (namespace/name), and
    `target` is the scraped target."""

    uuid: str
    node: str
    bus: str
    index: str
    model: str
    timestamp: float
    value: float
    owner: str = ""
    target: str = ""


@dataclass(frozen=True)
class Scrape:
    """Describe the scrapes of a target. `interval` is in seconds, and `error` is the error of the last scrape, empty
    for a success."""

    interval: float
    error: str = ""


@dataclass(frozen=True)
class Series:
    """Hold the samples of a metric at `timestamp`, by Prometheus' clock. `metric` is empty where no GPU has a
    series."""

    metric: str
    timestamp: float
    samples: tuple[Sample, ...] = ()
    scrapes: Mapping[str, Scrape] | None = None

    def find_interval(self, sample: Sample) -> float:
        scrape = (self.scrapes or {}).get(sample.target)
        return scrape.interval if scrape else self.interval

    @property
    def interval(self) -> float:
        """Return the longest scrape interval of the targets of the samples, in seconds."""
        targets = {sample.target for sample in self.samples}
        intervals = [scrape.interval for target, scrape in (self.scrapes or {}).items() if target in targets]
        return max(intervals, default=USUAL_INTERVAL)

    def list_samples(self, uuid: str) -> tuple[Sample, ...]:
        """List the samples of a GPU, newest first."""
        samples = [sample for sample in self.samples if sample.uuid == uuid]
        return tuple(sorted(samples, key=lambda sample: -sample.timestamp))


@dataclass
class Prometheus:
    """Query Prometheus through `client`. `nodes` are names, and `pods` maps namespace/name to the node, to find the
    node of a series. The first query of series chooses `metric` and reads `scrapes`."""

    client: Client
    nodes: Iterable[str]
    pods: Mapping[str, str]
    metric: str = ""
    scrapes: Mapping[str, Scrape] = field(default_factory=dict)

    def query_series(self, *, targets: bool = False) -> Series:
        """Query the samples of all GPUs. `targets` reads the scrapes again. Raise NoAnswer."""
        names = [self.metric] if self.metric else METRICS
        samples_by_metric: dict[str, list[Sample]] = {name: [] for name in names}
        with convert_errors():
            answer = self.client.query_instant(f'{{__name__=~"{"|".join(names)}"}}[{LOOKBACK_SECONDS}s]')
            timestamp = self.client.fetch_time()
            if targets or not self.scrapes:
                self.scrapes = parse_scrapes(self.client.fetch_targets())
        for series in answer:
            samples_by_metric.setdefault(series.labels.get("__name__", ""), []).extend(
                parse_samples([series], self.nodes, self.pods)
            )
        self.metric = self.metric or choose_metric(samples_by_metric)
        return Series(self.metric, timestamp, tuple(samples_by_metric.get(self.metric, ())), self.scrapes)

    def query_time(self) -> float:
        """Query the time in seconds by Prometheus' clock, which is the clock of all samples. Raise NoAnswer."""
        with convert_errors():
            return self.client.fetch_time()

    def query_values(self, timestamp: float) -> dict[str, float]:
        """Query the values at a time by UUID. The largest value is used where a GPU has several series. Raise
        NoAnswer."""
        values: dict[str, float] = {}
        with convert_errors():
            answer = self.client.query_instant(self.metric, timestamp)
        for series in answer:
            value = series.find_newest_value()
            if value is not None and (uuid := series.labels.get("UUID")):
                values[uuid] = max(value, values.get(uuid, float("-inf")))
        return values


@contextmanager
def convert_errors() -> Iterator[None]:
    """Convert the errors of the client, which end other commands, to the reason that a proof shows."""
    try:
        yield
    except GpustackError as error:
        raise NoAnswer(f"{error.message} {error.reason}".strip()) from error


def parse_samples(answer: Iterable[metrics.Series], nodes: Iterable[str], pods: Mapping[str, str]) -> Iterator[Sample]:
    """Parse the answer to a range selector. `pods` maps namespace/name to the node. The node of the exporter's pod is
    more reliable than the labels that the exporter made."""
    node_names = set(nodes)
    for series in answer:
        labels, gpu = series.labels, extract_gpu(series.labels)
        numbers = [(timestamp, value) for timestamp, value in series.points if isfinite(value)]
        if numbers and gpu and gpu.uuid:
            owner = extract_owner(labels)
            yield Sample(
                uuid=gpu.uuid,
                node=find_node(labels, node_names, pods),
                bus=normalize_bus(gpu.bus),
                index=gpu.index,
                model=gpu.model,
                timestamp=numbers[-1][0],
                value=numbers[-1][1],
                owner=owner.path if owner and owner.path not in pods else "",
                target=name_target(labels),
            )


def find_node(labels: Mapping[str, str], node_names: set[str], pods: Mapping[str, str]) -> str:
    if node := pods.get(f"{labels.get('namespace', '')}/{labels.get('pod', '')}"):
        return node
    candidates = [labels.get(name, "") for name in ("node", *HOSTS)]
    return next((name for name in candidates if name in node_names), "")


def name_target(labels: Mapping[str, str]) -> str:
    return f"{labels.get('job', '')} {labels.get('instance', '')}"


def choose_metric(samples_by_metric: Mapping[str, Sequence[Sample]]) -> str:
    """Choose the first of METRICS that most GPUs have. Return an empty text where no GPU has one."""
    gpu_counts = {name: len({sample.uuid for sample in samples_by_metric.get(name, ())}) for name in METRICS}
    max_count = max(gpu_counts.values(), default=0)
    return next((name for name, count in gpu_counts.items() if count == max_count), "") if max_count else ""


def parse_scrapes(targets: Sequence[Any]) -> dict[str, Scrape]:
    """Parse the active targets of /api/v1/targets. Raise NoAnswer for those of another shape."""
    try:
        return {
            name_target(target["labels"]): Scrape(
                parse_interval(str(target.get("scrapeInterval", ""))), str(target.get("lastError", ""))
            )
            for target in targets
        }
    except UNREADABLE as error:
        raise NoAnswer("Prometheus answered its targets in another shape") from error


def parse_interval(text: str) -> float:
    """Parse the scrape interval of a target to seconds. Return USUAL_INTERVAL for other texts."""
    try:
        return parse_duration(text) or USUAL_INTERVAL
    except ValueError:
        return USUAL_INTERVAL
