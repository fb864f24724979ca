"""Faults of the layer `monitoring` in the selectors of Prometheus."""

from collections.abc import Sequence

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.gpu.dcgm import APP
from gpustack.probes.monitoring.service_monitors import (
    SELECTORS,
    SERVICE_MONITORS,
    PrometheusSelectors,
    Selector,
    ServiceMonitor,
)
from gpustack.probes.monitoring.workloads import PROMETHEUSES

SUBJECT = "monitor of the GPU exporter"


@check("mon-selector-nil-uses-helm-values", SELECTORS, SERVICE_MONITORS, PROMETHEUSES)
def selector(view: View) -> Result:
    """Check that a Prometheus selects a ServiceMonitor of the exporter, by its labels and its namespace."""
    prometheuses, monitors = view[SELECTORS], view[SERVICE_MONITORS]
    if prometheuses is None or monitors is None:
        return build_ok_result(SUBJECT, "no ServiceMonitors in the API")
    own_monitors = [
        monitor for monitor in monitors if monitor.match_labels and monitor.match_labels.items() <= APP.items()
    ]
    if not prometheuses or not own_monitors:
        return build_ok_result(SUBJECT, "no Prometheus" if not prometheuses else "none")
    if selected_names := [
        monitor.name
        for monitor in own_monitors
        if any(accepts_monitor(prometheus, monitor) for prometheus in prometheuses)
    ]:
        return build_ok_result(SUBJECT, f"{format_value(selected_names)} selected")
    view[PROMETHEUSES]  # the step monitoring reports the same as a selector that omits monitors
    selectors = format_value(
        [f"{prometheus.name} selects {format_selector(prometheus)}" for prometheus in prometheuses]
    )
    monitor_names = format_value([f"{monitor.name} in {monitor.namespace}" for monitor in own_monitors])
    return Result(SUBJECT, "selected by Prometheus", f"{selectors}, but not {monitor_names}")


def accepts_monitor(prometheus: PrometheusSelectors, monitor: ServiceMonitor) -> bool:
    """Tell whether a Prometheus selects a monitor, as its operator does: an absent selector takes nothing, an absent
    one of namespaces takes its own namespace. Raise FactUnavailable for expressions."""
    if prometheus.namespaces is None:
        same_namespace = monitor.namespace == prometheus.namespace
    elif prometheus.namespaces.plain and not prometheus.namespaces.labels:
        same_namespace = True
    else:
        raise FactUnavailable("the selector of namespaces asks for labels of namespaces")
    return same_namespace and matches_labels(prometheus.monitors, monitor)


def matches_labels(selector: Selector | None, monitor: ServiceMonitor) -> bool:
    if selector is None:
        return False
    if not selector.plain:
        raise FactUnavailable("the selector has expressions")
    return selector.labels.items() <= monitor.labels.items()


def format_selector(prometheus: PrometheusSelectors) -> str:
    if prometheus.monitors is None:
        return "no monitors"
    words = ["monitors"]
    if labels := format_labels(sorted(prometheus.monitors.labels.items())):
        words += ["with", labels]
    if prometheus.namespaces is None:
        words += ["of the namespace", prometheus.namespace]
    elif spaces := format_labels(sorted(prometheus.namespaces.labels.items())):
        words += ["of namespaces with", spaces]
    return " ".join(words)


def format_labels(pairs: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{key}={value}" for key, value in pairs)
