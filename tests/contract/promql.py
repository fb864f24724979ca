"""Mistakes of a PromQL expression are read off its tree: unknown names, rates of gauges, labels that get lost."""

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import promql_parser
import yaml

from gpustack.steps import budget
from gpustack.vocabulary.fields import find_fields, list_spellings

ROOT = Path(__file__).parents[2]
RULES = ROOT / "values" / "rules"
COUNTERS = ROOT / "values" / "dcgm" / "counters.csv"

# Of kube-state-metrics, kubelet (and its cAdvisor), kube-apiserver, node-exporter, the GPU operator and Prometheus.
# True: a counter.
OTHER_SERIES = {
    "up": False,
    "scrape_duration_seconds": False,
    "ALERTS": False,
    "kube_pod_info": False,
    "kube_pod_container_resource_requests": False,
    "kube_pod_init_container_resource_requests": False,
    "kube_pod_labels": False,
    "kube_pod_created": False,
    "kube_pod_start_time": False,
    "kube_pod_status_reason": False,
    "kube_pod_status_scheduled_time": False,
    "kube_pod_status_phase": False,
    "kube_pod_status_ready": False,
    "kube_pod_status_unschedulable": False,
    "kube_pod_owner": False,
    "kube_pod_container_status_last_terminated_reason": False,
    "kube_node_spec_unschedulable": False,
    "kube_namespace_labels": False,
    "kube_node_labels": False,
    "kube_node_status_allocatable": False,
    "kube_node_status_capacity": False,
    "kube_node_status_condition": False,
    "kube_lease_renew_time": False,
    "kube_job_status_start_time": False,
    "kube_job_status_failed": False,
    "kube_job_complete": False,
    "kube_job_failed": False,
    "kube_cronjob_created": False,
    "kube_cronjob_status_last_successful_time": False,
    "kube_daemonset_status_desired_number_scheduled": False,
    "kube_daemonset_status_number_ready": False,
    "kube_deployment_spec_replicas": False,
    "kube_deployment_status_replicas_available": False,
    "gpu_operator_reconciliation_status": False,
    "kubelet_certificate_manager_client_ttl_seconds": False,
    "apiserver_client_certificate_expiration_seconds_bucket": True,
    "container_cpu_usage_seconds_total": True,
    "container_cpu_cfs_periods_total": True,
    "container_cpu_cfs_throttled_periods_total": True,
    "container_memory_working_set_bytes": False,
    "container_network_receive_bytes_total": True,
    "container_network_transmit_bytes_total": True,
    "node_boot_time_seconds": False,
    "node_cpu_seconds_total": True,
    "node_memory_MemAvailable_bytes": False,
    "node_memory_MemTotal_bytes": False,
    "node_disk_io_time_seconds_total": True,
    "node_network_receive_bytes_total": True,
    "node_network_transmit_bytes_total": True,
}
RATES = {"rate", "irate", "increase", "resets"}


def read_rows(path: Path) -> list[list[str]]:
    """Read the cells of a CSV file with `#` comments."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return [[cell.strip() for cell in row] for row in csv.reader(lines)]


@cache
def read_exported() -> dict[str, bool]:
    """Read for each metric of the enabled rows of our CSV whether it is a counter."""
    return {name: kind == "counter" for name, kind, _ in read_rows(COUNTERS) if kind != "label"}


def read_rules(name: str) -> list[dict[str, Any]]:
    """Read every rule of one file in values/rules."""
    groups = yaml.safe_load((RULES / name).read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


@cache
def read_recorded() -> dict[str, bool]:
    """Read for each recorded name whether it is a counter, by its last part; names that a spec with prices adds
    included."""
    names = [rule["record"] for rule in read_rules("gpu-recording.yaml")] + [budget.HOURLY_SPENDING, budget.CLOCK]
    return {name: name.endswith("total") for name in names}


def walk_tree(tree: Any) -> Iterator[Any]:
    """Walk the tree and everything below it."""
    yield tree
    for part in ("lhs", "rhs", "expr", "param", "vector_selector"):
        child = getattr(tree, part, None)
        if child is not None:
            yield from walk_tree(child)
    for argument in getattr(tree, "args", None) or []:
        yield from walk_tree(argument)


def list_metrics(tree: Any) -> set[str]:
    return {node.name or "" for node in walk_tree(tree) if isinstance(node, promql_parser.VectorSelector)}


def covers_gpus(tree: Any) -> bool:
    return any(name.startswith(("gpustack:gpu_", "gpustack:gpu:", "DCGM_")) for name in list_metrics(tree))


def find_unknown(expr: str, *, only_recorded: bool = False) -> list[str]:
    known_series = set(read_recorded())
    if not only_recorded:
        fields = frozenset(name for name in read_exported() if find_fields(name))
        known_series |= read_exported().keys() | OTHER_SERIES.keys() | set(list_spellings(fields))
    return sorted(list_metrics(promql_parser.parse(expr)) - known_series)


def find_gauge_rates(expr: str) -> list[str]:
    counters = read_exported() | read_recorded() | OTHER_SERIES
    calls = [node for node in walk_tree(promql_parser.parse(expr)) if isinstance(node, promql_parser.Call)]
    return [
        str(call)
        for call in calls
        if call.func.name in RATES
        if not all(counters.get(name) for name in list_metrics(call))
    ]


def find_lost_labels(expr: str, *labels: str) -> list[str]:
    """Find aggregations over series of GPUs whose result lacks one of the labels."""
    problems = []
    for node in walk_tree(promql_parser.parse(expr)):
        if not isinstance(node, promql_parser.AggregateExpr) or not covers_gpus(node.expr):
            continue
        named_labels = set(node.modifier.labels) if node.modifier else set()
        is_by = node.modifier is not None and node.modifier.type == promql_parser.AggModifierType.By
        remaining_labels = set(labels) & named_labels if is_by or not node.modifier else set(labels) - named_labels
        if remaining_labels != set(labels):
            problems.append(str(node))
    return problems
