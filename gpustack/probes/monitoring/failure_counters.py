"""Counters by which programs of the platform report what they failed to do, and that have risen a moment ago.

Prometheus: storage/remote/queue_manager.go, notifier/metric.go, tsdb/db.go, tsdb/wlog, discovery/kubernetes.
Alertmanager: notify/notify.go. The API server: staging/src/k8s.io/apiserver/pkg/util/flowcontrol/metrics. Clients of
the API: component-base/metrics/prometheus/restclient. CoreDNS: plugin/forward. config-reloader: thanos pkg/reloader.
node-exporter: collector/netclass_linux.go.
"""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Probe
from gpustack.files.number import parse_number
from gpustack.probes.monitoring.workloads import build_query, list_samples

VIRTUAL_LINKS = "lo|veth.*|cni.*|flannel.*|cali.*|docker.*|br.*|virbr.*|tap.*|dummy.*"


@dataclass(frozen=True)
class FailureCounter:
    """Describe a counter: what it counts, in words, and by which of its labels it is told apart. It is reported where
    it has risen by more than `floor` within `minutes`. `selector` narrows its series."""

    name: str
    words: str
    labels: tuple[str, ...] = ()
    selector: str = ""
    floor: int = 0
    minutes: int = 5


COUNTERS = (
    FailureCounter(
        "prometheus_remote_storage_samples_failed_total", "samples that a remote write has lost", ("remote_name",)
    ),
    FailureCounter(
        "prometheus_remote_storage_samples_retried_total", "samples that a remote write sends again", ("remote_name",)
    ),
    FailureCounter("prometheus_notifications_errors_total", "alerts that Alertmanager did not take"),
    FailureCounter("prometheus_notifications_dropped_total", "alerts that reached no Alertmanager"),
    FailureCounter(
        "alertmanager_notifications_failed_total", "notifications that a receiver did not take", ("integration",)
    ),
    FailureCounter(
        "apiserver_flowcontrol_rejected_requests_total",
        "requests that the API server rejected with 429 Too Many Requests",
        ("flow_schema", "priority_level", "reason"),
    ),
    FailureCounter(
        "rest_client_requests_total",
        "requests to the API server that were refused",
        ("code",),
        selector='code=~"401|403|429|5.."',
        floor=20,
    ),
    FailureCounter("prometheus_tsdb_wal_writes_failed_total", "writes to the log of Prometheus that failed"),
    FailureCounter("prometheus_tsdb_compactions_failed_total", "compactions of Prometheus that failed"),
    FailureCounter(
        "prometheus_sd_kubernetes_failures_total", "reads of the API by which Prometheus finds targets, that failed"
    ),
    FailureCounter("coredns_forward_healthcheck_broken_total", "queries without a name server outside that answers"),
    FailureCounter("reloader_reloads_failed_total", "reloads of a configuration that failed"),
    FailureCounter(
        "node_network_carrier_down_changes_total",
        "times that a link lost its carrier",
        ("device",),
        selector=f'device!~"{VIRTUAL_LINKS}"',
        floor=2,
        minutes=15,
    ),
)
COUNTERS_BY_NAME = {counter.name: counter for counter in COUNTERS}


@dataclass(frozen=True)
class FailureCount:
    """Hold by how much a counter has risen. `detail` has the values of its labels."""

    counter: str
    job: str
    instance: str
    detail: str
    rise: float


def parse_failure_counts(answer: Answer) -> tuple[FailureCount, ...]:
    """Parse the counters that have risen. Raise ValueError where the answer is none to an instant query."""
    counts = (
        FailureCount(
            metric["counter"],
            metric.get("job", ""),
            metric.get("instance", ""),
            metric.get("detail", ""),
            parse_number(sample["value"][1], 0),
        )
        for sample in list_samples(answer)
        for metric in (sample["metric"],)
    )
    return tuple(sorted(counts, key=lambda count: (count.counter, count.detail, count.job, count.instance)))


def render_expression(counter: FailureCounter) -> str:
    grouping = ", ".join(("job", "instance", *counter.labels))
    rise = f"sum by ({grouping}) (increase({counter.name}{{{counter.selector}}}[{counter.minutes}m]))"
    sources = "".join(f', "{label}"' for label in counter.labels)
    detailed_rise = f'label_join({rise} > {counter.floor}, "detail", ", "{sources})'
    return f'label_replace({detailed_rise}, "counter", "{counter.name}", "", "")'


FAILURE_COUNTS = Probe(
    "failures.counters", build_query(" or ".join(map(render_expression, COUNTERS))), parse_failure_counts
)
