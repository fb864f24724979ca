"""The selectors of each Prometheus, and the labels of each ServiceMonitor.

The match of both: prometheus-operator Documentation/api-reference/api.md, serviceMonitorSelector: an empty selector
takes everything, an absent one nothing; an absent selector of namespaces means the namespace of the Prometheus itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects_if_known

PATH = "/apis/monitoring.coreos.com/v1"


@dataclass(frozen=True)
class Selector:
    """Hold the labels of a selector. `plain`: it has labels alone, and no expressions."""

    labels: Mapping[str, str]
    plain: bool


@dataclass(frozen=True)
class PrometheusSelectors:
    """Hold the selectors of a Prometheus for monitors, and for the namespaces to look in. None is an absent
    selector."""

    namespace: str
    name: str
    monitors: Selector | None
    namespaces: Selector | None


@dataclass(frozen=True)
class ServiceMonitor:
    """Describe a ServiceMonitor.

    `match_labels` are the labels of the Services that it is for, `ports` the names of their ports, None for one that is
    named otherwise. `spaces` are the namespaces that it looks in, empty for its own, None for all.
    """

    namespace: str
    name: str
    labels: Mapping[str, str]
    match_labels: Mapping[str, str]
    ports: tuple[str | None, ...] = ()
    spaces: tuple[str, ...] | None = ()


def parse_selector(document: Any) -> Selector | None:
    if document is None:
        return None
    return Selector(dict(document.get("matchLabels") or {}), not document.get("matchExpressions"))


def parse_selectors(answer: Answer) -> tuple[PrometheusSelectors, ...] | None:
    """Parse the selectors of each Prometheus object. Return None where the objects are not known."""
    objects = list_objects_if_known(answer)
    if objects is None:
        return None
    return tuple(parse_prometheus(entry["metadata"], entry.get("spec", {})) for entry in objects)


def parse_prometheus(metadata: Any, spec: Any) -> PrometheusSelectors:
    return PrometheusSelectors(
        metadata["namespace"],
        metadata["name"],
        parse_selector(spec.get("serviceMonitorSelector")),
        parse_selector(spec.get("serviceMonitorNamespaceSelector")),
    )


def parse_service_monitors(answer: Answer) -> tuple[ServiceMonitor, ...] | None:
    objects = list_objects_if_known(answer)
    if objects is None:
        return None
    return tuple(parse_service_monitor(entry["metadata"], entry.get("spec", {})) for entry in objects)


def parse_service_monitor(metadata: Any, spec: Any) -> ServiceMonitor:
    spaces = spec.get("namespaceSelector", {})
    return ServiceMonitor(
        metadata["namespace"],
        metadata["name"],
        dict(metadata.get("labels") or {}),
        dict(spec.get("selector", {}).get("matchLabels") or {}),
        tuple(endpoint.get("port") for endpoint in spec.get("endpoints") or ()),
        None if spaces.get("any") else tuple(spaces.get("matchNames") or ()),
    )


NAME_FIELDS = ("metadata.name", "metadata.namespace")
SELECTORS = Probe(
    "service-monitors.selectors",
    Api(f"{PATH}/prometheuses", (*NAME_FIELDS, "spec.serviceMonitorSelector", "spec.serviceMonitorNamespaceSelector")),
    parse_selectors,
    exit_codes=(0, 1),
)
SERVICE_MONITORS = Probe(
    "service-monitors.objects",
    Api(
        f"{PATH}/servicemonitors",
        (*NAME_FIELDS, "metadata.labels", "spec.selector.matchLabels", "spec.endpoints.port", "spec.namespaceSelector"),
    ),
    parse_service_monitors,
    exit_codes=(0, 1),
)
