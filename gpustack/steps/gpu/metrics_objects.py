"""The objects that the step gpu-metrics creates in the cluster."""

from typing import Any

from gpustack.ask.view import View
from gpustack.config.sections.exporter import Relabeling
from gpustack.probes.gpu.dcgm import APP, EXPORTER, Monitor
from gpustack.probes.kubernetes.applied_objects import LABEL, MANAGER
from gpustack.steps.applied_objects import build_object
from gpustack.steps.gpu.exporter import COUNTERS, COUNTERS_KEY, format_scrape_timeout, render_counters
from gpustack.steps.gpu.hosts import count_host_gpus

MONITOR_NAME = "gpustack-dcgm"
PORT = "gpu-metrics"  # of the exporter's Service, NVIDIA/gpu-operator assets/state-dcgm-exporter


def select_monitor(view: View) -> Monitor:
    operators = view.spec.gpu.stack == "operator" and view.spec.gpu.metrics.service_monitor == "operator"
    return Monitor(view.spec.gpu.namespace, EXPORTER if operators else MONITOR_NAME)


def build_variables(view: View) -> dict[str, Any]:
    """Build what the role gpu_metrics reads: `monitor` is the name of the ServiceMonitor that is to exist, `objects`
    are those of gpustack, `release` is the operator's, whose ConfigMap of counters may be written."""
    release = view.spec.gpu.release
    if not count_host_gpus(view):
        return {"monitor": "", "objects": [], "release": release}
    name = select_monitor(view).name
    objects = [build_config_map(view)] + ([build_monitor(view)] if name == MONITOR_NAME else [])
    return {"monitor": name, "objects": objects, "release": release}


def build_config_map(view: View) -> dict[str, Any]:
    """Build the ConfigMap of the counters. The operator's release contains it as well, with labels of Helm's: there
    gpustack sets none, or each would undo the other's."""
    data = {COUNTERS_KEY: render_counters(view)}
    labels = {"labels": {LABEL: MANAGER}} if view.spec.gpu.stack == "host" else {}
    metadata = {"name": COUNTERS, "namespace": view.spec.gpu.namespace, **labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def build_monitor(view: View) -> dict[str, Any]:
    """Build a ServiceMonitor as the operator's own, under a name that the operator does not look for."""
    interval = view.spec.gpu.metrics.interval
    times = {"interval": interval, "scrapeTimeout": format_scrape_timeout(interval)}
    endpoint = {"port": PORT, "path": "/metrics", "honorLabels": False, **times}
    if rules := view.spec.gpu.metrics.relabelings:
        endpoint["metricRelabelings"] = [build_relabeling(rule) for rule in rules]
    spec = {"jobLabel": "app", "selector": {"matchLabels": dict(APP)}, "endpoints": [endpoint]}
    space = view.spec.gpu.namespace
    return build_object("ServiceMonitor", "monitoring.coreos.com/v1", space, MONITOR_NAME, {}, {"spec": spec})


def build_relabeling(rule: Relabeling) -> dict[str, Any]:
    """Build a rule as the Prometheus operator spells it (RelabelConfig of monitoring.coreos.com/v1)."""
    relabel_config: dict[str, Any] = {"action": rule.action, "regex": rule.regex}
    if rule.source_labels:
        relabel_config["sourceLabels"] = list(rule.source_labels)
    if rule.action == "replace":
        relabel_config |= {"targetLabel": rule.target_label, "replacement": rule.replacement}
    return relabel_config
