"""What Prometheus says of its own scraping, and of the GPU exporter's samples that no single number shows.

Placeholders for "no value": DCGM dcgmlib/dcgm_structs.h, DCGM_INT64_BLANK and DCGM_FP64_BLANK with what follows them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.json_text import load_json
from gpustack.files.number import parse_number
from gpustack.probes.kubernetes.nodes import entries
from gpustack.probes.monitoring.workloads import instant, samples

NO_NUMBER = ("NaN", "+Inf", "-Inf")


@dataclass(frozen=True)
class ScrapeJob:
    """What is scraped together. `up`: every target of it answers."""

    job: str
    namespace: str
    service: str
    up: bool


@dataclass(frozen=True)
class Measured:
    """A value of one GPU. `host` is the exporter's word for the node."""

    name: str
    host: str
    gpu: str
    value: float


@dataclass(frozen=True)
class Target:
    """`node` and `error` are Prometheus' own words; no error is a target that answers."""

    node: str
    error: str


@dataclass(frozen=True)
class LeftOut:
    """An object that the Prometheus operator does not take, and its words for why."""

    kind: str
    namespace: str
    name: str
    why: str


def left_out(answer: Answer) -> tuple[LeftOut, ...]:
    """Each once. Raises ValueError for what is no list of events."""
    found = {}
    for entry in entries(answer):
        regards = entry["involvedObject"]
        place = str(regards["kind"]), str(regards["namespace"]), str(regards["name"])
        found[place] = LeftOut(*place, str(entry["message"])[:300])
    return tuple(found[place] for place in sorted(found))


def jobs(answer: Answer) -> tuple[ScrapeJob, ...]:
    """Raises ValueError for what is no instant query."""
    return tuple(
        ScrapeJob(
            metric.get("job", ""),
            metric.get("namespace", ""),
            metric.get("service", ""),
            sample["value"][1] == "1",
        )
        for sample in samples(answer)
        for metric in (sample["metric"],)
    )


def by(label: str, answer: Answer) -> dict[str, float]:
    return {str(sample["metric"].get(label, "")): parse_number(sample["value"][1]) for sample in samples(answer)}


def instances(answer: Answer) -> Mapping[str, float]:
    return by("instance", answer)


def read_names(answer: Answer) -> Mapping[str, float]:
    return by("__name__", answer)


def labels(answer: Answer) -> Mapping[str, float]:
    return by("label", answer)


def resources(answer: Answer) -> Mapping[str, float]:
    return by("resource", answer)


def read_down_targets(answer: Answer) -> tuple[tuple[str, str], ...]:
    """(job, instance) of each target that does not answer."""
    found = (sample["metric"] for sample in samples(answer))
    return tuple(sorted((metric.get("job", ""), metric.get("instance", "")) for metric in found))


def read_values(answer: Answer) -> tuple[Measured, ...]:
    """A series whose value is not a number is not measured; Prometheus writes it as NaN or Inf."""
    return tuple(
        Measured(
            metric.get("__name__", ""),
            metric.get("hostname") or metric.get("Hostname", ""),
            metric.get("gpu", ""),
            parse_number(sample["value"][1]),
        )
        for sample in samples(answer)
        for metric in (sample["metric"],)
        if sample["value"][1] not in NO_NUMBER
    )


def targets(answer: Answer) -> tuple[Target, ...]:
    """Raises ValueError for what is no answer of /api/v1/targets."""
    body = load_json(answer.out)
    if body["status"] != "success":
        raise ValueError(answer.out[:200])
    return tuple(
        Target(str(one["labels"].get("node") or one["labels"].get("instance", "")), str(one["lastError"])[:300])
        for one in body["data"]["activeTargets"]
    )


LAST = "timestamp(DCGM_FI_DEV_GPU_TEMP)"
FIRST = f"min_over_time({LAST}[5m:15s])"
SOURCE = "UUID, job, instance"
GONE = 120
"""Seconds without a scrape, after which a job is one of before. Of a job that was taken from its configuration
Prometheus marks no series as ended: each is answered with for five minutes
(https://prometheus.io/docs/prometheus/latest/querying/basics)."""
JOBS = Probe("scrape.jobs", instant("min by (job, namespace, service) (up)"), jobs)
DOWN = Probe("scrape.down-targets", instant("up == 0"), read_down_targets)
# Of each node its clock when it was scraped, beside Prometheus' own.
CLOCKS = Probe(
    "scrape.clocks", instant("max by (instance) (abs(timestamp(node_time_seconds) - node_time_seconds)) > 5"), instances
)
# Of a GPU in parts (MIG) one source says several. An exporter that was made anew is another source after the first:
# only where their times overlap is their sum longer than the time from the first sample to the last.
TWICE = Probe(
    "scrape.duplicates",
    instant(
        "max by (job, namespace, service) (DCGM_FI_DEV_GPU_TEMP and on (UUID) ("
        f"sum by (UUID) (max by ({SOURCE}) ({LAST} > time() - {GONE}) - min by ({SOURCE}) ({FIRST})) "
        f"> max by (UUID) ({LAST}) - min by (UUID) ({FIRST})))"
    ),
    jobs,
)
BLANKS = Probe(
    "scrape.blanks",
    instant(
        'count by (__name__) ({__name__=~"DCGM_FI_.+"} >= 9223372036854775000 '
        'or ({__name__=~"DCGM_FI_.+"} >= 140737488355328 <= 140737488355342))'
    ),
    read_names,
)
REJECTED = Probe(
    "scrape.rejected-objects",
    instant('sum by (resource) (prometheus_operator_managed_resources{state="rejected"}) > 0'),
    resources,
)
# Which ones, the operator says in events alone, and says it again with each look at them (prometheus-operator
# pkg/prometheus/resource_selector.go); the API keeps an event for an hour.
LEFT_OUT = Probe(
    "scrape.rejection-events",
    Api(
        "/api/v1/events?fieldSelector=reason%3DInvalidConfiguration&limit=2000",
        ("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "message"),
    ),
    left_out,
)
DCGM_NAMES = Probe("scrape.dcgm-names", instant('count by (__name__) ({__name__=~"DCGM_.+"})'), read_names)
HOST_LABELS = Probe(
    "scrape.host-labels",
    instant(
        " or ".join(
            f'label_replace(count(DCGM_FI_DEV_GPU_TEMP{{{name}!=""}}), "label", "{name}", "", "")'
            for name in ("hostname", "Hostname")
        )
    ),
    labels,
)
XIDS = Probe("scrape.xids", instant("DCGM_FI_DEV_XID_ERRORS > 0"), read_values)
ROW_REMAP = Probe("scrape.row-remap", instant('{__name__=~"DCGM_FI_DEV_ROW_REMAP_(PENDING|FAILURE)"} > 0'), read_values)
# The name of the pool follows from those of the chart's ServiceMonitor.
KUBELETS = Probe(
    "scrape.kubelets",
    Api(
        "/api/v1/namespaces/$MONITORING/services/http:$RELEASE-prometheus:http-web/proxy"
        "/api/v1/targets?state=active&scrapePool=serviceMonitor/$MONITORING/$RELEASE-kubelet/0",
        ("status", "data.activeTargets.labels", "data.activeTargets.lastError"),
    ),
    targets,
)
