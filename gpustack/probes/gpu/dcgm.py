"""The way of DCGM's metrics: the exporter's counters, its monitors, and the series that Prometheus has of each GPU.

Labels of series: dcgm-exporter internal/pkg/transformation; the label of the host is Hostname to 4.8.2 and hostname
since.
"""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.number import parse_number
from gpustack.probes.kubernetes.nodes import list_objects, list_objects_if_known
from gpustack.probes.monitoring.workloads import build_query, list_samples
from gpustack.vocabulary.labels import SCRAPE_TIME

EXPORTER = "nvidia-dcgm-exporter"
APP = {"app": EXPORTER}


@dataclass(frozen=True)
class Monitor:
    """Identify a ServiceMonitor that lets Prometheus find the exporter."""

    namespace: str
    name: str


@dataclass(frozen=True)
class GpuSeries:
    """Describe one GPU as Prometheus has it.

    `host` is the exporter's word for the node, `job` the scrape job; `pod` is the pod that the kubelet gave the GPU to,
    empty while it is free. `age`: seconds since it was scraped last.
    """

    uuid: str
    host: str
    gpu: str
    model: str
    job: str
    pod: str
    age: float


def parse_counters(answer: Answer) -> dict[str, str]:
    """Parse the CSV by name of its ConfigMap, for each that has one."""
    counters = {}
    for entry in list_objects(answer):
        text = entry.get("data", {}).get("dcgm-metrics.csv")
        if text is not None:
            counters[str(entry["metadata"]["name"])] = str(text)
    return counters


def parse_monitors(answer: Answer) -> tuple[Monitor, ...] | None:
    """Parse the monitors that select the exporter's Service, or None while the API does not know the kind."""
    monitor_objects = list_objects_if_known(answer)
    if monitor_objects is None:
        return None
    monitors = []
    for entry in monitor_objects:
        match_labels = entry["spec"].get("selector", {}).get("matchLabels", {})
        if match_labels and match_labels.items() <= APP.items():
            monitors.append(Monitor(entry["metadata"]["namespace"], entry["metadata"]["name"]))
    return tuple(sorted(monitors, key=lambda monitor: (monitor.namespace, monitor.name)))


def parse_gpu_series(answer: Answer) -> tuple[GpuSeries, ...]:
    """Parse the series of GPUs. Raise ValueError where the answer is none to an instant query."""
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
        for sample in list_samples(answer)
        for labels in (sample["metric"],)
    )


COUNTERS = Probe(
    "dcgm.counters",
    Api(
        "/api/v1/namespaces/$GPU_NAMESPACE/configmaps?fieldSelector=metadata.name%3Dgpustack-dcgm-counters",
        ("metadata.name", r"data.dcgm-metrics\.csv"),
    ),
    parse_counters,
)
MONITORS = Probe(
    "dcgm.monitors",
    Api(
        "/apis/monitoring.coreos.com/v1/servicemonitors",
        ("metadata.name", "metadata.namespace", "spec.selector.matchLabels"),
    ),
    parse_monitors,
    exit_codes=(0, 1),
)
SERIES = Probe(
    "dcgm.series",
    build_query(f"max by (UUID, Hostname, hostname, gpu, modelName, job, exported_pod) ({SCRAPE_TIME})"),
    parse_gpu_series,
)
