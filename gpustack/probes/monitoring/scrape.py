"""Prometheus' word about its own scraping, and samples of the GPU exporter that no single number shows.

Placeholders for "no value": DCGM dcgmlib/dcgm_structs.h, DCGM_INT64_BLANK and DCGM_FP64_BLANK with the values after
them.
"""

from dataclasses import dataclass
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.number import parse_number
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.monitoring.workloads import PROMETHEUS, build_query, list_samples, load_data, parse_by_label
from gpustack.vocabulary.labels import HEARD_OF, HOSTS, SCRAPE_TIME

NO_NUMBER = ("NaN", "+Inf", "-Inf")


@dataclass(frozen=True)
class ScrapeJob:
    """Describe targets that are scraped together. `is_up`: every target of them answers."""

    job: str
    namespace: str
    service: str
    is_up: bool


@dataclass(frozen=True)
class Measurement:
    """Hold a value of one GPU. `host` is the exporter's word for the node."""

    name: str
    host: str
    gpu: str
    value: float


@dataclass(frozen=True)
class Target:
    """Describe a target in Prometheus' own words. A target without an `error` answers."""

    node: str
    error: str


@dataclass(frozen=True)
class TargetError:
    """Hold the last error of a target that does not answer, in Prometheus' words."""

    job: str
    instance: str
    error: str


@dataclass(frozen=True)
class RejectedObject:
    """Describe an object that the Prometheus operator rejects, and its reason."""

    kind: str
    namespace: str
    name: str
    reason: str


def parse_rejected_objects(answer: Answer) -> tuple[RejectedObject, ...]:
    """Parse the rejected objects, each once. Raise ValueError where the answer is no list of events."""
    rejected_objects = {}
    for entry in list_objects(answer):
        involved_object = entry["involvedObject"]
        kind, namespace, name = (str(involved_object.get(field, "")) for field in ("kind", "namespace", "name"))
        place = kind, namespace, name
        rejected_objects[place] = RejectedObject(*place, shorten_message(str(entry.get("message", ""))))
    return tuple(rejected_objects[place] for place in sorted(rejected_objects))


def parse_scrape_jobs(answer: Answer) -> tuple[ScrapeJob, ...]:
    """Parse the scrape jobs. Raise ValueError where the answer is none to an instant query."""
    return tuple(
        ScrapeJob(
            metric.get("job", ""), metric.get("namespace", ""), metric.get("service", ""), sample["value"][1] == "1"
        )
        for sample in list_samples(answer)
        for metric in (sample["metric"],)
    )


def parse_down_targets(answer: Answer) -> tuple[tuple[str, str], ...]:
    """Parse (job, instance) of each target that does not answer."""
    metrics = (sample["metric"] for sample in list_samples(answer))
    return tuple(sorted((metric.get("job", ""), metric.get("instance", "")) for metric in metrics))


def parse_measurements(answer: Answer) -> tuple[Measurement, ...]:
    """Parse the measurements. A series whose value is not a number is left out; Prometheus writes it as NaN or Inf."""
    return tuple(
        Measurement(
            metric.get("__name__", ""),
            metric.get("hostname") or metric.get("Hostname", ""),
            metric.get("gpu", ""),
            parse_number(sample["value"][1]),
        )
        for sample in list_samples(answer)
        for metric in (sample["metric"],)
        if sample["value"][1] not in NO_NUMBER
    )


def list_targets(answer: Answer) -> list[Any]:
    """Return the active targets. Raise ValueError where the answer is none of /api/v1/targets."""
    targets: list[Any] = load_data(answer)["activeTargets"]
    return targets


def parse_targets(answer: Answer) -> tuple[Target, ...]:
    return tuple(
        Target(
            str(target["labels"].get("node") or target["labels"].get("instance", "")),
            shorten_message(str(target["lastError"])),
        )
        for target in list_targets(answer)
    )


def parse_target_errors(answer: Answer) -> tuple[TargetError, ...]:
    """Parse the errors of targets that have one."""
    errors = (
        TargetError(labels.get("job", ""), labels.get("instance", ""), shorten_message(target["lastError"]))
        for target in list_targets(answer)
        for labels in (target["labels"],)
        if target.get("lastError")
    )
    return tuple(sorted(errors, key=lambda error: (error.job, error.instance)))


EXPORTER_SERIES = f'__name__=~"{"|".join(HEARD_OF)}"'
LAST_TIME = f"({SCRAPE_TIME})"
FIRST_TIME = f"min_over_time({LAST_TIME}[5m:15s])"
SOURCE = "UUID, job, instance"
STALE_SECONDS = 120
"""The seconds without a scrape after which a job is no longer configured. Prometheus marks no series of a removed job
as ended: it answers with each for five minutes (https://prometheus.io/docs/prometheus/latest/querying/basics)."""
JOBS = Probe("scrape.jobs", build_query("min by (job, namespace, service) (up)"), parse_scrape_jobs)
DOWN_TARGETS = Probe("scrape.down-targets", build_query("up == 0"), parse_down_targets)
# Of each node its clock when it was scraped, beside Prometheus' own.
CLOCKS = Probe(
    "scrape.clocks",
    build_query("max by (instance) (abs(timestamp(node_time_seconds) - node_time_seconds)) > 5"),
    parse_by_label("instance"),
)
# Of a GPU in parts (MIG) one source says several. An exporter that was made anew is another source after the first:
# only where their times overlap is their sum longer than the time from the first sample to the last.
DUPLICATE_JOBS = Probe(
    "scrape.duplicates",
    build_query(
        f"max by (job, namespace, service) ({{{EXPORTER_SERIES}}} and on (UUID) ("
        f"sum by (UUID) (max by ({SOURCE}) ({LAST_TIME} > time() - {STALE_SECONDS}) "
        f"- min by ({SOURCE}) ({FIRST_TIME})) "
        f"> max by (UUID) ({LAST_TIME}) - min by (UUID) ({FIRST_TIME})))"
    ),
    parse_scrape_jobs,
)
BLANK_VALUES = Probe(
    "scrape.blanks",
    build_query(
        'count by (__name__) ({__name__=~"DCGM_FI_.+"} >= 9223372036854775000 '
        'or ({__name__=~"DCGM_FI_.+"} >= 140737488355328 <= 140737488355342))'
    ),
    parse_by_label("__name__"),
)
REJECTED_OBJECTS = Probe(
    "scrape.rejected-objects",
    build_query('sum by (resource) (prometheus_operator_managed_resources{state="rejected"}) > 0'),
    parse_by_label("resource"),
)
# Which ones, the operator says in events alone, and says it again with each look at them (prometheus-operator
# pkg/prometheus/resource_selector.go); the API keeps an event for an hour.
REJECTION_EVENTS = Probe(
    "scrape.rejection-events",
    Api(
        "/api/v1/events?fieldSelector=reason%3DInvalidConfiguration&limit=2000",
        ("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "message"),
    ),
    parse_rejected_objects,
)
DCGM_NAMES = Probe(
    "scrape.dcgm-names", build_query('count by (__name__) ({__name__=~"DCGM_.+"})'), parse_by_label("__name__")
)
HOST_LABELS = Probe(
    "scrape.host-labels",
    build_query(
        " or ".join(
            f'label_replace(count({{{EXPORTER_SERIES},{name}!=""}}), "label", "{name}", "", "")'
            for name in reversed(HOSTS)
        )
    ),
    parse_by_label("label"),
)
XIDS = Probe("scrape.xids", build_query("DCGM_FI_DEV_XID_ERRORS > 0"), parse_measurements)
ROW_REMAP = Probe(
    "scrape.row-remap", build_query('{__name__=~"DCGM_FI_DEV_ROW_REMAP_(PENDING|FAILURE)"} > 0'), parse_measurements
)
# The name of the pool follows from those of the chart's ServiceMonitor.
KUBELETS = Probe(
    "scrape.kubelets",
    Api(
        f"{PROMETHEUS}/api/v1/targets?state=active&scrapePool=serviceMonitor/$MONITORING/$RELEASE-kubelet/0",
        ("status", "data.activeTargets.labels", "data.activeTargets.lastError"),
    ),
    parse_targets,
)
TARGET_ERRORS = Probe(
    "scrape.target-errors",
    Api(
        f"{PROMETHEUS}/api/v1/targets?state=active",
        ("status", "data.activeTargets.labels", "data.activeTargets.lastError"),
    ),
    parse_target_errors,
)
