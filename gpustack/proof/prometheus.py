"""What Prometheus has of GPUs: the newest sample of each series, from which node, how often it is scraped, and the
values at one moment.

Raw samples are asked for (`name[2m]`), not an instant value: that one would hide for five minutes that a series has
ended, and its time would be that of the question.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from gpustack.proof.http import NoAnswer, Web
from gpustack.proof.workload import normalize_bus

# The first that most GPUs have: fields that the exporter's own list has always enabled, and under these names.
METRICS = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE")
HOSTNAME = ("hostname", "Hostname")  # exporter 4.8.3 and later, and before
USUAL_INTERVAL = 30.0
BACK = 300
"""Seconds: a series that has ended is still seen for so long, and that it ended."""


@dataclass(frozen=True)
class Sample:
    """`at` in seconds of Prometheus' clock. `node` and `bus` are empty where no label says them; `owner` is the pod
    that the exporter says uses the GPU (namespace/name); `target` is what was scraped."""

    uuid: str
    node: str
    bus: str
    index: str
    model: str
    at: float
    value: float
    owner: str = ""
    target: str = ""


@dataclass(frozen=True)
class Scrape:
    """Of a target: seconds between scrapes, and what the last one failed with, empty when it did not."""

    every: float
    error: str = ""


@dataclass(frozen=True)
class Series:
    """What was found at `now` (Prometheus' clock). `metric` is empty when no GPU has any series."""

    metric: str
    now: float
    samples: tuple[Sample, ...] = ()
    scrapes: Mapping[str, Scrape] | None = None

    def interval_of(self, sample: Sample) -> float:
        found = (self.scrapes or {}).get(sample.target)
        return found.every if found else self.interval

    @property
    def interval(self) -> float:
        """The longest of the exporters' targets."""
        mine = {sample.target for sample in self.samples}
        known = [one.every for target, one in (self.scrapes or {}).items() if target in mine]
        return max(known, default=USUAL_INTERVAL)

    def of(self, uuid: str) -> tuple[Sample, ...]:
        """Of one GPU, newest first."""
        return tuple(sorted((one for one in self.samples if one.uuid == uuid), key=lambda one: -one.at))


@dataclass
class Prometheus:
    """`nodes` and `pods` (namespace/name to node) tell where a series comes from. `metric` is settled by the first
    look; the intervals of targets are read with it, and again with `targets`."""

    web: Web
    nodes: Iterable[str]
    pods: Mapping[str, str]
    metric: str = ""
    scrapes: Mapping[str, Scrape] = field(default_factory=dict)

    def look(self, *, targets: bool = False) -> Series:
        """Raises NoAnswer."""
        names = [self.metric] if self.metric else METRICS
        found: dict[str, list[Sample]] = {name: [] for name in names}
        answer = self.query(f'{{__name__=~"{"|".join(names)}"}}[{BACK}s]')
        now = self.now()
        for one in self.filter_known(answer):
            found[one["metric"]["__name__"]] += parse_samples([one], self.nodes, self.pods)
        self.metric = self.metric or choose_metric(found)
        if targets or not self.scrapes:
            self.scrapes = parse_scrapes(self.ask("/api/v1/targets", {"state": "active"})["activeTargets"])
        return Series(self.metric, now, tuple(found.get(self.metric, ())), self.scrapes)

    def now(self) -> float:
        """By its own clock, which all times of samples are of."""
        return float(self.query("time()")[0])

    def filter_known(self, answer: Any) -> list[Any]:
        if not isinstance(answer, list):
            raise NoAnswer("Prometheus answered something of another shape")
        return [one for one in answer if one["metric"].get("__name__") in METRICS]

    def values(self, at: float) -> dict[str, float]:
        """By UUID; of several series of a GPU the largest."""
        found: dict[str, float] = {}
        for one in self.filter_known(self.query(self.metric, at)):
            if uuid := one["metric"].get("UUID"):
                found[uuid] = max(float(one["value"][1]), found.get(uuid, float("-inf")))
        return found

    def query(self, expression: str, at: float | None = None) -> Any:
        words = {"query": expression} | ({} if at is None else {"time": f"{at:.3f}"})
        return self.ask("/api/v1/query", words)["result"]

    def ask(self, path: str, words: Mapping[str, str]) -> Any:
        status, response = self.web.get(path, words)
        if not isinstance(response, dict) or response.get("status") != "success":
            error = response.get("error") if isinstance(response, dict) else response
            raise NoAnswer(f"Prometheus refused the question (HTTP {status}): {error or 'no reason given'}")
        return response["data"]


def parse_samples(result: Sequence[Any], nodes: Iterable[str], pods: Mapping[str, str]) -> Iterator[Sample]:
    """Out of the answer to a range selector. `pods` says on which node each pod (namespace/name) runs: the exporter's
    own pod tells where a series comes from better than any label that it made."""
    known = set(nodes)
    for one in result:
        labels = one["metric"]
        numbers = [(float(at), float(value)) for at, value in one["values"] if isfinite(float(value))]
        if numbers and (uuid := labels.get("UUID")):
            yield Sample(
                uuid=uuid,
                node=find_node(labels, known, pods),
                bus=normalize_bus(labels.get("pci_bus_id", "")),
                index=labels.get("gpu", ""),
                model=labels.get("modelName", ""),
                at=numbers[-1][0],
                value=numbers[-1][1],
                owner=find_owner(labels),
                target=name_target(labels),
            )


def find_node(labels: Mapping[str, str], known: set[str], pods: Mapping[str, str]) -> str:
    if found := pods.get(f"{labels.get('namespace', '')}/{labels.get('pod', '')}"):
        return found
    candidates = [labels.get(name, "") for name in ("node", *HOSTNAME)]
    return next((name for name in candidates if name in known), "")


def find_owner(labels: Mapping[str, str]) -> str:
    """With honorLabels false, as everywhere, the exporter's own pod is `pod` and the GPU's user is `exported_pod`."""
    name = labels.get("exported_pod", "")
    return f"{labels.get('exported_namespace', '')}/{name}" if name else ""


def name_target(labels: Mapping[str, str]) -> str:
    return f"{labels.get('job', '')} {labels.get('instance', '')}"


def choose_metric(found: Mapping[str, Sequence[Sample]]) -> str:
    """Of the metrics, by name, the first that most GPUs have."""
    counted = {name: len({one.uuid for one in found.get(name, ())}) for name in METRICS}
    most = max(counted.values(), default=0)
    return next((name for name, count in counted.items() if count == most), "") if most else ""


def parse_scrapes(targets: Sequence[Any]) -> dict[str, Scrape]:
    """Out of /api/v1/targets."""
    return {
        name_target(one["labels"]): Scrape(parse_duration(one.get("scrapeInterval", "")), one.get("lastError", ""))
        for one in targets
    }


def parse_duration(text: str) -> float:
    """`15s`, `1m30s`, `1m`: as Prometheus writes durations. What is none counts as the usual interval."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    parts = re.findall(r"(?<!\d)(\d{1,12}+)(ms|s|m|h)", text)
    total = sum(int(number) * units[unit] for number, unit in parts)
    return total if total and "".join(f"{number}{unit}" for number, unit in parts) == text else USUAL_INTERVAL
