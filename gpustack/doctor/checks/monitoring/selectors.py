"""Faults of the layer `monitoring`: whether what Prometheus should watch reaches it, object by object."""

from collections.abc import Sequence

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.gpu.dcgm import APP
from gpustack.probes.monitoring.service_monitors import SELECTORS, SERVICE_MONITORS, Selector, ServiceMonitor, Watching
from gpustack.probes.monitoring.workloads import PROMETHEUSES

WHAT = "monitor of the GPU exporter"


@check("mon-selector-nil-uses-helm-values", SELECTORS, SERVICE_MONITORS, PROMETHEUSES)
def selector(here: View) -> Result:
    """Every monitor of the exporter is left out by every Prometheus: by its labels, or by its namespace."""
    watching, monitors = here[SELECTORS], here[SERVICE_MONITORS]
    if watching is None or monitors is None:
        return ok(WHAT, "the API does not know the kind")
    ours = [monitor for monitor in monitors if monitor.wanted and monitor.wanted.items() <= APP.items()]
    if not watching or not ours:
        return ok(WHAT, "no Prometheus" if not watching else "there is none")
    if taken := [one.name for one in ours if any(takes(prometheus, one) for prometheus in watching)]:
        return ok(WHAT, f"{as_text(taken)} is taken")
    here[PROMETHEUSES]  # the step monitoring says of the same that a selector leaves something out
    wanted = as_text([f"{prometheus.name} wants {selector_text(prometheus)}" for prometheus in watching])
    there = as_text([f"{one.name} in {one.namespace}" for one in ours])
    return Result(WHAT, "taken by Prometheus", f"{wanted}; {there} is not among them")


def takes(prometheus: Watching, monitor: ServiceMonitor) -> bool:
    """As the operator of Prometheus chooses: an absent selector takes nothing, an absent one of namespaces its own."""
    if prometheus.namespaces is None:
        near = monitor.namespace == prometheus.namespace
    elif prometheus.namespaces.plain and not prometheus.namespaces.labels:
        near = True
    else:
        raise FactUnavailable("the selector of namespaces asks for labels of namespaces")
    return near and matches(prometheus.monitors, monitor)


def matches(selector: Selector | None, monitor: ServiceMonitor) -> bool:
    if selector is None:
        return False
    if not selector.plain:
        raise FactUnavailable("the selector has expressions")
    return selector.labels.items() <= monitor.labels.items()


def selector_text(prometheus: Watching) -> str:
    if prometheus.monitors is None:
        return "no monitors"
    found = ["monitors"]
    if wanted := labels(sorted(prometheus.monitors.labels.items())):
        found += ["with", wanted]
    if prometheus.namespaces is None:
        found += ["of the namespace", prometheus.namespace]
    elif spaces := labels(sorted(prometheus.namespaces.labels.items())):
        found += ["of namespaces with", spaces]
    return " ".join(found)


def labels(pairs: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{key}={value}" for key, value in pairs)


CHECKS = (selector,)
