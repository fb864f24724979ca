"""DCGM's metrics on their way: the exporter's counters, its monitors, and what Prometheus has of each GPU.

Labels of series: dcgm-exporter internal/pkg/transformation; the label of the host is Hostname to 4.8.2 and hostname
since.
"""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.number import parse_number
from gpustack.probes.kubernetes.nodes import entries, entries_if_known
from gpustack.probes.monitoring.workloads import instant, samples

EXPORTER = "nvidia-dcgm-exporter"
APP = {"app": EXPORTER}


@dataclass(frozen=True)
class Monitor:
    """A ServiceMonitor that lets Prometheus find the exporter."""

    namespace: str
    name: str


@dataclass(frozen=True)
class GpuSeries:
    """One GPU as Prometheus has it. `host` is the exporter's word for the node, `job` the scrape job; `pod` is the pod
    that the kubelet gave it to, empty while it is free. `age`: seconds since it was scraped last."""

    uuid: str
    host: str
    gpu: str
    model: str
    job: str
    pod: str
    age: float


def counters(answer: Answer) -> dict[str, str]:
    """The CSV by name of its ConfigMap, for each that has one."""
    found = {}
    for entry in entries(answer):
        text = entry.get("data", {}).get("dcgm-metrics.csv")
        if text is not None:
            found[str(entry["metadata"]["name"])] = str(text)
    return found


def monitors(answer: Answer) -> tuple[Monitor, ...] | None:
    """Those that select the exporter's Service; None while the API does not know the kind."""
    known = entries_if_known(answer)
    if known is None:
        return None
    found = []
    for entry in known:
        wanted = entry["spec"].get("selector", {}).get("matchLabels", {})
        if wanted and wanted.items() <= APP.items():
            found.append(Monitor(entry["metadata"]["namespace"], entry["metadata"]["name"]))
    return tuple(sorted(found, key=lambda one: (one.namespace, one.name)))


def series(answer: Answer) -> tuple[GpuSeries, ...]:
    """Raises ValueError for what is no answer to an instant query."""
    return tuple(
        GpuSeries(
            labels["UUID"],
            labels.get("hostname") or labels.get("Hostname", ""),
            labels.get("gpu", ""),
            labels.get("modelName", ""),
            labels.get("job", ""),
            labels.get("exported_pod", ""),
            round(parse_number(sample["value"][0]) - parse_number(sample["value"][1]), 3),
        )
        for sample in samples(answer)
        for labels in (sample["metric"],)
    )


COUNTERS = Probe(
    "dcgm.counters",
    Api(
        "/api/v1/namespaces/$GPU_NAMESPACE/configmaps?fieldSelector=metadata.name%3Dgpustack-dcgm-counters",
        ("metadata.name", r"data.dcgm-metrics\.csv"),
    ),
    counters,
)
MONITORS = Probe(
    "dcgm.monitors",
    Api(
        "/apis/monitoring.coreos.com/v1/servicemonitors",
        ("metadata.name", "metadata.namespace", "spec.selector.matchLabels"),
    ),
    monitors,
    ends=(0, 1),
)
# The temperature: every GPU has one, also without ECC, profiling or a process.
SERIES = Probe(
    "dcgm.series",
    instant(
        "max by (UUID, Hostname, hostname, gpu, modelName, job, exported_pod) (timestamp(DCGM_FI_DEV_GPU_TEMP))",
    ),
    series,
)
