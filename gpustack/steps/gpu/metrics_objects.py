"""The objects that the step gpu-metrics creates in the cluster."""

from typing import Any

from gpustack.ask.view import View
from gpustack.config.sections.exporter import Relabeling
from gpustack.probes.gpu.dcgm import APP, EXPORTER, Monitor
from gpustack.probes.kubernetes.applied import LABEL, MANAGER
from gpustack.steps.applied import stamped
from gpustack.steps.gpu.exporter import COUNTERS, COUNTERS_KEY, own_and_more, patience
from gpustack.steps.gpu.hosts import expected

OURS = "gpustack-dcgm"
PORT = "gpu-metrics"  # of the exporter's Service, NVIDIA/gpu-operator assets/state-dcgm-exporter


def wanted_monitor(here: View) -> Monitor:
    operators = here.spec.gpu.stack == "operator" and here.spec.gpu.metrics.service_monitor == "operator"
    return Monitor(here.spec.gpu.namespace, EXPORTER if operators else OURS)


def wanted(here: View) -> dict[str, Any]:
    """Compose what the role gpu_metrics reads: `monitor` is the name of the ServiceMonitor that is to be there,
    `objects` are those of ours, `release` is the operator's, whose ConfigMap of counters may be written."""
    release = here.spec.gpu.release
    if not expected(here):
        return {"monitor": "", "objects": [], "release": release}
    name = wanted_monitor(here).name
    objects = [config_map(here)] + ([monitor_of_ours(here)] if name == OURS else [])
    return {"monitor": name, "objects": objects, "release": release}


def config_map(here: View) -> dict[str, Any]:
    """Compose the ConfigMap of the counters. The operator's release brings it as well, with labels of Helm's: there we
    set none, or each would undo the other's."""
    data = {COUNTERS_KEY: own_and_more(here)}
    labels = {"labels": {LABEL: MANAGER}} if here.spec.gpu.stack == "host" else {}
    metadata = {"name": COUNTERS, "namespace": here.spec.gpu.namespace, **labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def monitor_of_ours(here: View) -> dict[str, Any]:
    """As the operator's own, under a name that the operator does not look for."""
    interval = here.spec.gpu.metrics.interval
    times = {"interval": interval, "scrapeTimeout": patience(interval)}
    endpoint = {"port": PORT, "path": "/metrics", "honorLabels": False, **times}
    if rules := here.spec.gpu.metrics.relabelings:
        endpoint["metricRelabelings"] = [relabeling(rule) for rule in rules]
    spec = {"jobLabel": "app", "selector": {"matchLabels": dict(APP)}, "endpoints": [endpoint]}
    space = here.spec.gpu.namespace
    return stamped("ServiceMonitor", "monitoring.coreos.com/v1", space, OURS, {}, {"spec": spec})


def relabeling(rule: Relabeling) -> dict[str, Any]:
    """As the Prometheus operator spells it (RelabelConfig of monitoring.coreos.com/v1)."""
    found: dict[str, Any] = {"action": rule.action, "regex": rule.regex}
    if rule.source_labels:
        found["sourceLabels"] = list(rule.source_labels)
    if rule.action == "replace":
        found |= {"targetLabel": rule.target_label, "replacement": rule.replacement}
    return found
