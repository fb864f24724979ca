"""Series of the invented cluster as Prometheus stores them: OpenMetrics text, with the labels that targets add."""

import csv
from collections import defaultdict
from collections.abc import Iterator

from gpustack.config.resources import read_own_counters
from scripts.pictures.cluster import (
    FAULTY_GPU,
    GPUS,
    MINUTES,
    NAMESPACE,
    NO_WORK,
    NODES,
    START_MINUTE,
    XID_MINUTE,
    Gpu,
    is_paused,
)
from scripts.pictures.values import XID, compute_gauges, compute_load, compute_rates

STEP = 30
LEAD_MINUTES = 10
"""Minutes before the hour that is shown, so that its first rates have a past; STEP is in seconds."""


def list_counters() -> dict[str, bool]:
    """List gpustack's counters: whether each field is a counter."""
    rows = csv.reader(line for line in read_own_counters().splitlines() if line and not line.startswith("#"))
    return {name.strip(): kind.strip() == "counter" for name, kind, _ in rows if kind.strip() != "label"}


def render_openmetrics(end: int) -> str:
    """Render the hour until `end`, in seconds since 1970."""
    lines = (f"{series} {value:.10g} {timestamp}\n" for series, value, timestamp in list_samples(end))
    return "".join([*lines, "# EOF\n"])


def list_samples(end: int) -> Iterator[tuple[str, float, int]]:
    begin = end - MINUTES * 60
    totals: dict[str, float] = defaultdict(float)
    for timestamp in range(begin - LEAD_MINUTES * 60, end + 1, STEP):
        minute = (timestamp - begin) / 60
        for series, value in (pair for gpu in GPUS for pair in list_gpu_samples(gpu, minute, totals)):
            yield series, value, timestamp
        for series, value in (
            *list_cluster_samples(minute),
            *(pair for node in NODES for pair in list_node_samples(node, minute)),
        ):
            yield series, value, timestamp
        for series, growth in list_growth(minute):
            totals[series] += growth * STEP
            yield series, totals[series], timestamp


def list_gpu_samples(gpu: Gpu, minute: float, totals: dict[str, float]) -> Iterator[tuple[str, float]]:
    """List the samples of a GPU. The namespace and pod of the workload are exported_…, as the target has labels of that
    name."""
    profile, instance = gpu.instance
    labels = f'job="nvidia-dcgm-exporter",namespace="gpu-operator",pod="exporter-{gpu.node}",hostname="{gpu.node}"'
    labels += f',gpu="{gpu.index}",UUID="{gpu.uuid}",modelName="{gpu.board.model}"'
    labels += f',GPU_I_PROFILE="{profile}",GPU_I_ID="{instance}"' if profile else ""
    pod_labels = f',exported_namespace="{NAMESPACE}",exported_pod="{gpu.work.pod}",exported_container="main"'
    has_xid = gpu is FAULTY_GPU and minute >= XID_MINUTE
    labels += "" if gpu.work is NO_WORK or has_xid else pod_labels
    gauges = compute_gauges(gpu, minute)
    rates = compute_rates(gpu, minute, gauges)
    for name, is_counter in list_counters().items():
        if name.startswith(gpu.absent) or ("XID" in name and not has_xid):
            continue
        code = f',xid="{XID}"' if name.startswith("DCGM_EXP_XID") else ""
        if is_counter and name not in gauges:
            total = f"{name}{gpu.uuid}{gpu.instance}"
            totals[total] += rates.get(name, 0.0) * STEP
            yield f"{name}{{{labels}}}", totals[total]
        else:
            yield f"{name}{{{labels}{code}}}", float(gauges.get(name, 0))


def list_node_samples(node: str, minute: float) -> Iterator[tuple[str, float]]:
    """List the samples of a node, by the names of Prometheus, kube-state-metrics, the kubelet and node-exporter."""
    node_gpus = [gpu for gpu in GPUS if gpu.node == node]
    exporter = f'namespace="gpu-operator",pod="exporter-{node}"'
    host = f'namespace="monitoring",pod="node-exporter-{node}"'
    yield f'up{{job="nvidia-dcgm-exporter",{exporter}}}', float(not (node == "gpu3" and 20 <= minute < 23))
    for pod in (exporter, host):
        yield f'kube_pod_info{{{pod},node="{node}"}}', 1
    yield f'kube_node_status_condition{{node="{node}",condition="Ready",status="true"}}', 1
    yield f'kubelet_certificate_manager_client_ttl_seconds{{node="{node}"}}', (300 - NODES.index(node)) * 86400
    yield f"node_memory_MemTotal_bytes{{{host}}}", 1.08e12
    yield f"node_memory_MemAvailable_bytes{{{host}}}", 8.6e11 - 3e11 * (node_gpus[0].work.load(minute) > 0)
    for profile in dict.fromkeys(gpu.instance[0] for gpu in node_gpus):
        resource = f"nvidia_com_mig_{profile.replace('.', '_')}" if profile else "nvidia_com_gpu"
        profile_gpus = [gpu for gpu in node_gpus if gpu.instance[0] == profile]
        is_lost = FAULTY_GPU in profile_gpus and minute >= XID_MINUTE
        yield f'kube_node_status_capacity{{node="{node}",resource="{resource}"}}', len(profile_gpus)
        yield f'kube_node_status_allocatable{{node="{node}",resource="{resource}"}}', len(profile_gpus) - is_lost
        held_count = sum(gpu.work is not NO_WORK for gpu in profile_gpus) - is_lost
        for pod in {gpu.work.pod for gpu in profile_gpus if gpu.work.pod}:
            pod_labels = f'namespace="{NAMESPACE}",pod="{pod}",uid="{pod}"'
            yield (
                f'kube_pod_container_resource_requests{{resource="{resource}",node="{node}",{pod_labels},container="main"}}',
                held_count,
            )
            yield f'kube_pod_status_phase{{{pod_labels},phase="Running"}}', 1


def list_cluster_samples(minute: float) -> Iterator[tuple[str, float]]:
    for operand in ("nvidia-dcgm-exporter", "nvidia-device-plugin-daemonset"):
        labels = f'namespace="gpu-operator",daemonset="{operand}"'
        is_missing = operand == "nvidia-dcgm-exporter" and 20 <= minute < 23
        yield f"kube_daemonset_status_desired_number_scheduled{{{labels}}}", len(NODES)
        yield f"kube_daemonset_status_number_ready{{{labels}}}", len(NODES) - is_missing
    if minute >= XID_MINUTE:
        yield 'ALERTS{alertname="GpuRowRemapPending",alertstate="firing",severity="warning"}', 1
    job = f'namespace="{NAMESPACE}",pod="train-0"'
    yield f'container_memory_working_set_bytes{{{job},container="main"}}', 2.1e11 if minute >= START_MINUTE else 3e10
    if minute >= START_MINUTE:
        yield f"training_loss{{{job}}}", 1.9 + 2.6 * 0.93 ** (minute - START_MINUTE)


def list_growth(minute: float) -> Iterator[tuple[str, float]]:
    """List the growth per second of counters of hosts, containers, the API server and the application."""
    for node in NODES:
        first_gpu = next(gpu for gpu in GPUS if gpu.node == node)
        load = compute_load(first_gpu, minute)
        host = f'namespace="monitoring",pod="node-exporter-{node}"'
        for mode, share in (("user", 0.04 + 0.3 * load), ("iowait", 0.01 + 0.02 * load)):
            yield f'node_cpu_seconds_total{{{host},cpu="0",mode="{mode}"}}', share
        yield f'node_cpu_seconds_total{{{host},cpu="0",mode="idle"}}', 0.95 - 0.32 * load
        yield (
            f'node_disk_io_time_seconds_total{{{host},device="nvme0n1"}}',
            0.02 + (0.5 if is_paused(minute) else 0.08 * load),
        )
        yield f'node_network_receive_bytes_total{{{host},device="eth0"}}', 2e6 + 4e8 * load
        yield f'node_network_transmit_bytes_total{{{host},device="eth0"}}', 1e6 + 9e7 * load
    load = compute_load(GPUS[0], minute)
    job = f'namespace="{NAMESPACE}",pod="train-0"'
    yield f'container_cpu_usage_seconds_total{{{job},container="main"}}', 0.5 + 21 * load
    yield f'container_cpu_cfs_periods_total{{{job},container="main"}}', 10
    yield f'container_cpu_cfs_throttled_periods_total{{{job},container="main"}}', 0.4 * load
    yield f"container_network_receive_bytes_total{{{job}}}", 3e8 * load
    yield f"container_network_transmit_bytes_total{{{job}}}", 2e7 * load
    yield f"training_samples_total{{{job}}}", 410 * load
    yield f"training_step_seconds_sum{{{job}}}", float(load > 0)
    yield f"training_step_seconds_count{{{job}}}", load / 0.62
    for bucket_bound, rate in (("86400", 0.0), ("604800", 0.0), ("2.592e+06", 0.02)):
        yield f'apiserver_client_certificate_expiration_seconds_bucket{{le="{bucket_bound}"}}', rate
