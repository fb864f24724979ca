"""What Prometheus has of GPUs: the newest sample of each series, from which node, and how often it is scraped.

Raw samples are asked for (`name[2m]`), not an instant value: that one would hide for five minutes that a series has
ended, and its time would be that of the question.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from gpustack.proof.pod_status import bus

# The first that most GPUs have: fields that the exporter's own list has always enabled, and under these names.
METRICS = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE")
HOSTNAME = ("hostname", "Hostname")  # exporter 4.8.3 and later, and before
USUAL_INTERVAL = 30.0


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

    def every(self, sample: Sample) -> float:
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


def samples(result: Sequence[Any], nodes: Iterable[str], pods: Mapping[str, str]) -> Iterator[Sample]:
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
                bus=bus(labels.get("pci_bus_id", "")),
                index=labels.get("gpu", ""),
                model=labels.get("modelName", ""),
                at=numbers[-1][0],
                value=numbers[-1][1],
                owner=owner(labels),
                target=target(labels),
            )


def find_node(labels: Mapping[str, str], known: set[str], pods: Mapping[str, str]) -> str:
    if found := pods.get(f"{labels.get('namespace', '')}/{labels.get('pod', '')}"):
        return found
    candidates = [labels.get(name, "") for name in ("node", *HOSTNAME)]
    return next((name for name in candidates if name in known), "")


def owner(labels: Mapping[str, str]) -> str:
    """With honorLabels false, as everywhere, the exporter's own pod is `pod` and the GPU's user is `exported_pod`."""
    name = labels.get("exported_pod", "")
    return f"{labels.get('exported_namespace', '')}/{name}" if name else ""


def target(labels: Mapping[str, str]) -> str:
    return f"{labels.get('job', '')} {labels.get('instance', '')}"


def chosen(found: Mapping[str, Sequence[Sample]]) -> str:
    """Of the metrics, by name, the first that most GPUs have."""
    counted = {name: len({one.uuid for one in found.get(name, ())}) for name in METRICS}
    most = max(counted.values(), default=0)
    return next((name for name, count in counted.items() if count == most), "") if most else ""


def scrapes(targets: Sequence[Any]) -> dict[str, Scrape]:
    """Out of /api/v1/targets."""
    return {
        target(one["labels"]): Scrape(seconds(one.get("scrapeInterval", "")), one.get("lastError", ""))
        for one in targets
    }


def seconds(text: str) -> float:
    """`15s`, `1m30s`, `1m`: as Prometheus writes durations. What is none counts as the usual interval."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    parts = re.findall(r"(\d+)(ms|s|m|h)", text)
    total = sum(int(number) * units[unit] for number, unit in parts)
    return total if total and "".join(f"{number}{unit}" for number, unit in parts) == text else USUAL_INTERVAL
