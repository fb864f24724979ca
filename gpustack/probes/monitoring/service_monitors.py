"""What Prometheus is configured to watch: the selectors of each Prometheus, and the labels of each ServiceMonitor.

How both meet: prometheus-operator Documentation/api-reference/api.md, serviceMonitorSelector: an empty selector takes
everything, an absent one nothing; an absent selector of namespaces means the namespace of the Prometheus itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.api import ABSENT
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries

PATH = "/apis/monitoring.coreos.com/v1"


@dataclass(frozen=True)
class Selector:
    """`plain`: it has labels alone, and no expressions."""

    labels: Mapping[str, str]
    plain: bool


@dataclass(frozen=True)
class Watching:
    """A Prometheus: how it chooses monitors, and namespaces to look in. None is an absent selector."""

    namespace: str
    name: str
    monitors: Selector | None
    namespaces: Selector | None


@dataclass(frozen=True)
class ServiceMonitor:
    """`wanted` are the labels of the Services that it is for, `ports` the names of their ports, None for one that is
    named otherwise. `spaces` are the namespaces that it looks in, empty for its own, None for all."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    wanted: Mapping[str, str]
    ports: tuple[str | None, ...] = ()
    spaces: tuple[str, ...] | None = ()


def objects(answer: Answer) -> list[Any] | None:
    """None while the API does not know the kind. Raises ValueError for another refusal."""
    if answer.rc:
        if ABSENT in answer.err:
            return None
        raise ValueError(answer.err)
    return entries(answer)


def selector(document: Any) -> Selector | None:
    if document is None:
        return None
    return Selector(dict(document.get("matchLabels") or {}), not document.get("matchExpressions"))


def selectors(answer: Answer) -> tuple[Watching, ...] | None:
    found = objects(answer)
    return None if found is None else tuple(read_selectors(entry["metadata"], entry.get("spec", {})) for entry in found)


def read_selectors(metadata: Any, spec: Any) -> Watching:
    return Watching(
        metadata["namespace"],
        metadata["name"],
        selector(spec.get("serviceMonitorSelector")),
        selector(spec.get("serviceMonitorNamespaceSelector")),
    )


def service_monitors(answer: Answer) -> tuple[ServiceMonitor, ...] | None:
    found = objects(answer)
    if found is None:
        return None
    return tuple(service_monitor(entry["metadata"], entry.get("spec", {})) for entry in found)


def service_monitor(metadata: Any, spec: Any) -> ServiceMonitor:
    spaces = spec.get("namespaceSelector", {})
    return ServiceMonitor(
        metadata["namespace"],
        metadata["name"],
        dict(metadata.get("labels") or {}),
        dict(spec.get("selector", {}).get("matchLabels") or {}),
        tuple(one.get("port") for one in spec.get("endpoints") or ()),
        None if spaces.get("any") else tuple(spaces.get("matchNames") or ()),
    )


NAMED = ("metadata.name", "metadata.namespace")
SELECTORS = Probe(
    "service-monitors.selectors",
    Api(f"{PATH}/prometheuses", (*NAMED, "spec.serviceMonitorSelector", "spec.serviceMonitorNamespaceSelector")),
    selectors,
    ends=(0, 1),
)
SERVICE_MONITORS = Probe(
    "service-monitors.objects",
    Api(
        f"{PATH}/servicemonitors",
        (*NAMED, "metadata.labels", "spec.selector.matchLabels", "spec.endpoints.port", "spec.namespaceSelector"),
    ),
    service_monitors,
    ends=(0, 1),
)
