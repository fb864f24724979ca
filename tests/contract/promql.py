"""What is wrong with a PromQL expression, read off its tree: unknown names, rates of gauges, labels that get lost."""

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import promql_parser
import yaml

from gpustack.steps import budget

ROOT = Path(__file__).parents[2]
RULES = ROOT / "values" / "rules"
COUNTERS = ROOT / "values" / "dcgm" / "counters.csv"

# Of kube-state-metrics, kubelet (and its cAdvisor), kube-apiserver, node-exporter, the GPU operator and Prometheus.
# True: a counter.
OTHERS = {
    "up": False,
    "scrape_duration_seconds": False,
    "ALERTS": False,
    "kube_pod_info": False,
    "kube_pod_container_resource_requests": False,
    "kube_pod_init_container_resource_requests": False,
    "kube_pod_labels": False,
    "kube_pod_created": False,
    "kube_pod_status_scheduled_time": False,
    "kube_pod_status_phase": False,
    "kube_pod_status_unschedulable": False,
    "kube_pod_owner": False,
    "kube_pod_container_status_last_terminated_reason": False,
    "kube_node_spec_unschedulable": False,
    "kube_namespace_labels": False,
    "kube_node_labels": False,
    "kube_node_status_allocatable": False,
    "kube_node_status_capacity": False,
    "kube_node_status_condition": False,
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
    "node_cpu_seconds_total": True,
    "node_memory_MemAvailable_bytes": False,
    "node_memory_MemTotal_bytes": False,
    "node_disk_io_time_seconds_total": True,
    "node_network_receive_bytes_total": True,
    "node_network_transmit_bytes_total": True,
}
RATES = {"rate", "irate", "increase", "resets"}


def rows(path: Path) -> list[list[str]]:
    """The cells of a CSV file with `#` comments."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return [[cell.strip() for cell in row] for row in csv.reader(lines)]


@cache
def exported() -> dict[str, bool]:
    """Metric -> is it a counter; of the enabled rows of our CSV."""
    return {name: kind == "counter" for name, kind, _ in rows(COUNTERS) if kind != "label"}


def rules(name: str) -> list[dict[str, Any]]:
    """Every rule of one file in values/rules."""
    groups = yaml.safe_load((RULES / name).read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


@cache
def recorded() -> dict[str, bool]:
    """Recorded name -> is it a counter, which its last part says; those too that a spec with prices adds."""
    found = [rule["record"] for rule in rules("gpu-recording.yaml")] + [budget.SPENDING, budget.CLOCK]
    return {name: name.endswith("total") for name in found}


def nodes(tree: Any) -> Iterator[Any]:
    """The tree and everything below it."""
    yield tree
    for part in ("lhs", "rhs", "expr", "param", "vector_selector"):
        child = getattr(tree, part, None)
        if child is not None:
            yield from nodes(child)
    for argument in getattr(tree, "args", None) or []:
        yield from nodes(argument)


def metrics(tree: Any) -> set[str]:
    return {node.name or "" for node in nodes(tree) if isinstance(node, promql_parser.VectorSelector)}


def of_gpus(tree: Any) -> bool:
    return any(name.startswith(("gpustack:gpu_", "gpustack:gpu:", "DCGM_")) for name in metrics(tree))


def unknown(expr: str, *, only_recorded: bool = False) -> list[str]:
    known = set(recorded()) if only_recorded else recorded().keys() | exported().keys() | OTHERS.keys()
    return sorted(metrics(promql_parser.parse(expr)) - known)


def rates_of_gauges(expr: str) -> list[str]:
    counters = exported() | recorded() | OTHERS
    calls = [node for node in nodes(promql_parser.parse(expr)) if isinstance(node, promql_parser.Call)]
    return [
        str(call) for call in calls if call.func.name in RATES if not all(counters.get(name) for name in metrics(call))
    ]


def lost(expr: str, *wanted: str) -> list[str]:
    """Aggregations over series of GPUs whose result has not all `wanted` labels."""
    found = []
    for node in nodes(promql_parser.parse(expr)):
        if not isinstance(node, promql_parser.AggregateExpr) or not of_gpus(node.expr):
            continue
        named = set(node.modifier.labels) if node.modifier else set()
        by = node.modifier is not None and node.modifier.type == promql_parser.AggModifierType.By
        kept = set(wanted) & named if by or not node.modifier else set(wanted) - named
        if kept != set(wanted):
            found.append(str(node))
    return found
