"""A small cluster as promtool's input series: two GPUs with every metric of our counters, and no others."""

from typing import Any

from tests.contract.promql import read_exported

GPUS = ("gpu1", "GPU-a"), ("gpu2", "GPU-b")
VALUES = {"DCGM_FI_PROF_": "0.5", "DCGM_FI_DEV_FB_": "2000", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": "68"}
OTHER_SERIES = (
    'up{job="nvidia-dcgm-exporter",namespace="gpu-operator",pod="e"}',
    'kube_pod_info{namespace="gpu-operator",pod="e",node="gpu1"}',
    'kube_pod_container_resource_requests{resource="nvidia_com_gpu",node="gpu1",namespace="n",pod="p",uid="u",container="c"}',
    'kube_pod_status_phase{namespace="n",pod="p",uid="u",phase="Running"}',
    'kube_pod_created{namespace="n",pod="p",uid="u"}',
    'kube_pod_start_time{namespace="n",pod="p",uid="u"}',
    'kube_pod_status_reason{namespace="n",pod="p",uid="u",reason="UnexpectedAdmissionError"}',
    'kube_pod_status_scheduled_time{namespace="n",pod="p",uid="u"}',
    'kube_pod_container_resource_requests{resource="nvidia_com_gpu",namespace="n",pod="w",uid="w",container="c"}',
    'kube_pod_status_phase{namespace="n",pod="w",uid="w",phase="Pending"}',
    'kube_node_status_capacity{node="gpu1",resource="nvidia_com_gpu"}',
    'kube_node_status_allocatable{node="gpu1",resource="nvidia_com_gpu"}',
    'kube_node_status_condition{node="gpu1",condition="Ready",status="true"}',
    'kube_node_labels{node="gpu1",label_nvidia_com_gpu_present="true",label_nvidia_com_gpu_sharing_strategy="none"}',
    'kube_daemonset_status_desired_number_scheduled{namespace="gpu-operator",daemonset="nvidia-dcgm-exporter"}',
    'kube_daemonset_status_number_ready{namespace="gpu-operator",daemonset="nvidia-dcgm-exporter"}',
    'gpu_operator_reconciliation_status{pod="gpu-operator"}',
    'kubelet_certificate_manager_client_ttl_seconds{node="gpu1"}',
    'apiserver_client_certificate_expiration_seconds_bucket{le="86400.0"}',
    'apiserver_client_certificate_expiration_seconds_bucket{le="604800.0"}',
    'apiserver_client_certificate_expiration_seconds_bucket{le="2.592e+06"}',
    'kube_pod_info{namespace="monitoring",pod="h",node="gpu1"}',
    'kube_lease_renew_time{namespace="gpu-operator",lease="gpustack-proof-gpu1"}',
    'node_boot_time_seconds{namespace="monitoring",pod="h"}',
    'node_memory_MemAvailable_bytes{namespace="monitoring",pod="h"}',
    'node_memory_MemTotal_bytes{namespace="monitoring",pod="h"}',
    'container_memory_working_set_bytes{namespace="n",pod="p",container="c"}',
    'training_loss{namespace="n",pod="p"}',
)
COUNTERS = (
    'node_cpu_seconds_total{namespace="monitoring",pod="h",cpu="0",mode="user"}',
    'node_cpu_seconds_total{namespace="monitoring",pod="h",cpu="0",mode="iowait"}',
    'node_disk_io_time_seconds_total{namespace="monitoring",pod="h",device="sda"}',
    'node_network_receive_bytes_total{namespace="monitoring",pod="h",device="eth0"}',
    'node_network_transmit_bytes_total{namespace="monitoring",pod="h",device="eth0"}',
    'container_cpu_usage_seconds_total{namespace="n",pod="p",container="c"}',
    'container_cpu_cfs_periods_total{namespace="n",pod="p",container="c"}',
    'container_cpu_cfs_throttled_periods_total{namespace="n",pod="p",container="c"}',
    'container_network_receive_bytes_total{namespace="n",pod="p"}',
    'container_network_transmit_bytes_total{namespace="n",pod="p"}',
    'training_samples_total{namespace="n",pod="p"}',
    'training_step_seconds_sum{namespace="n",pod="p"}',
    'training_step_seconds_count{namespace="n",pod="p"}',
)


def choose_value(metric: str) -> str:
    counter = read_exported().get(metric, False)
    return "0+1e8" if counter else next((text for start, text in VALUES.items() if metric.startswith(start)), "1")


def list_series() -> list[dict[str, Any]]:
    labels = 'hostname="{}",UUID="{}",gpu="0",modelName="H100",exported_namespace="n",exported_pod="p",job="d"'
    gpus = [
        f"{metric}{{{labels.format(*gpu)}{xid}}}"
        for gpu in GPUS
        for metric in read_exported()
        for xid in (["", ',xid="79"'] if metric.startswith("DCGM_EXP_XID") else [""])
    ]
    states = [
        {"series": series, "values": f"{choose_value(series.split('{')[0])}x20"} for series in [*gpus, *OTHER_SERIES]
    ]
    return states + [{"series": series, "values": "0+1x20"} for series in COUNTERS]
