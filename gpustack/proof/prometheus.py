"""Series of GPUs in Prometheus: the newest samples with their node and scrape interval, and the values at a time.

Raw samples are queried (`name[5m]`), not an instant value. An instant value would hide for five minutes that a series
has ended, and its time would be the time of the query.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from gpustack.proof.http import NoAnswer, Web
from gpustack.proof.workload import normalize_bus
from gpustack.times import parse_duration

# The first metric that most GPUs have is used. The default list of the exporter has always had these under these names.
METRICS = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE")
HOSTNAME = ("hostname", "Hostname")  # The second is of exporters before 4.8.3.
USUAL_INTERVAL = 30.0
BACK = 300
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
    """Query Prometheus through `web`. `nodes` are names, and `pods` maps namespace/name to the node, to find the node
    of a series. The first query of series chooses `metric` and reads `scrapes`."""

    web: Web
    nodes: Iterable[str]
    pods: Mapping[str, str]
    metric: str = ""
    scrapes: Mapping[str, Scrape] = field(default_factory=dict)

    def query_series(self, *, targets: bool = False) -> Series:
        """Query the samples of all GPUs. `targets` reads the scrapes again. Raise NoAnswer."""
        names = [self.metric] if self.metric else METRICS
        samples_by_metric: dict[str, list[Sample]] = {name: [] for name in names}
        answer = self.query(f'{{__name__=~"{"|".join(names)}"}}[{BACK}s]')
        timestamp = self.query_time()
        for result in self.filter_known(answer):
            samples_by_metric[result["metric"]["__name__"]] += parse_samples([result], self.nodes, self.pods)
        self.metric = self.metric or choose_metric(samples_by_metric)
        if targets or not self.scrapes:
            self.scrapes = parse_scrapes(self.request_data("/api/v1/targets", {"state": "active"})["activeTargets"])
        return Series(self.metric, timestamp, tuple(samples_by_metric.get(self.metric, ())), self.scrapes)

    def query_time(self) -> float:
        """Query the time in seconds by Prometheus' clock, which is the clock of all samples."""
        return float(self.query("time()")[0])

    def filter_known(self, answer: Any) -> list[Any]:
        if not isinstance(answer, list):
            raise NoAnswer("Prometheus answered something of another shape")
        return [result for result in answer if result["metric"].get("__name__") in METRICS]

    def query_values(self, timestamp: float) -> dict[str, float]:
        """Query the values at a time by UUID. The largest value is used where a GPU has several series."""
        values: dict[str, float] = {}
        for result in self.filter_known(self.query(self.metric, timestamp)):
            if uuid := result["metric"].get("UUID"):
                values[uuid] = max(float(result["value"][1]), values.get(uuid, float("-inf")))
        return values

    def query(self, expression: str, timestamp: float | None = None) -> Any:
        parameters = {"query": expression} | ({} if timestamp is None else {"time": f"{timestamp:.3f}"})
        return self.request_data("/api/v1/query", parameters)["result"]

    def request_data(self, path: str, parameters: Mapping[str, str]) -> Any:
        status, response = self.web.get(path, parameters)
        if not isinstance(response, dict) or response.get("status") != "success":
            error = response.get("error") if isinstance(response, dict) else response
            raise NoAnswer(f"Prometheus refused the query (HTTP {status}): {error or 'no reason given'}")
        return response["data"]


def parse_samples(result: Sequence[Any], nodes: Iterable[str], pods: Mapping[str, str]) -> Iterator[Sample]:
    """Parse the answer to a range selector. `pods` maps namespace/name to the node. The node of the exporter's pod is
    more reliable than the labels that the exporter made."""
    node_names = set(nodes)
    for series in result:
        labels = series["metric"]
        numbers = [(float(timestamp), float(value)) for timestamp, value in series["values"] if isfinite(float(value))]
        if numbers and (uuid := labels.get("UUID")):
            yield Sample(
                uuid=uuid,
                node=find_node(labels, node_names, pods),
                bus=normalize_bus(labels.get("pci_bus_id", "")),
                index=labels.get("gpu", ""),
                model=labels.get("modelName", ""),
                timestamp=numbers[-1][0],
                value=numbers[-1][1],
                owner=find_owner(labels),
                target=name_target(labels),
            )


def find_node(labels: Mapping[str, str], node_names: set[str], pods: Mapping[str, str]) -> str:
    if node := pods.get(f"{labels.get('namespace', '')}/{labels.get('pod', '')}"):
        return node
    candidates = [labels.get(name, "") for name in ("node", *HOSTNAME)]
    return next((name for name in candidates if name in node_names), "")


def find_owner(labels: Mapping[str, str]) -> str:
    """Find the user of a GPU by the labels of a series. With honorLabels false, as in gpustack's configuration, `pod`
    is the pod of the exporter, and `exported_pod` is the user."""
    name = labels.get("exported_pod", "")
    return f"{labels.get('exported_namespace', '')}/{name}" if name else ""


def name_target(labels: Mapping[str, str]) -> str:
    return f"{labels.get('job', '')} {labels.get('instance', '')}"


def choose_metric(samples_by_metric: Mapping[str, Sequence[Sample]]) -> str:
    """Choose the first of METRICS that most GPUs have. Return an empty text where no GPU has one."""
    gpu_counts = {name: len({sample.uuid for sample in samples_by_metric.get(name, ())}) for name in METRICS}
    max_count = max(gpu_counts.values(), default=0)
    return next((name for name, count in gpu_counts.items() if count == max_count), "") if max_count else ""


def parse_scrapes(targets: Sequence[Any]) -> dict[str, Scrape]:
    """Parse the active targets of /api/v1/targets."""
    return {
        name_target(target["labels"]): Scrape(
            parse_interval(target.get("scrapeInterval", "")), target.get("lastError", "")
        )
        for target in targets
    }


def parse_interval(text: str) -> float:
    """Parse the scrape interval of a target to seconds. Return USUAL_INTERVAL for other texts."""
    try:
        return parse_duration(text) or USUAL_INTERVAL
    except ValueError:
        return USUAL_INTERVAL
