"""Monitoring: the definitions of the Prometheus operator, its Prometheus and Alertmanager, and what Prometheus scrapes.

Conditions and their reasons: prometheus-operator Documentation/api-reference/api.md. The version of the definitions
stands in their annotation operator.prometheus.io/version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.json_text import load_json
from gpustack.files.number import parse_number
from gpustack.probes.kubernetes.nodes import entries, entries_if_known

GROUP = "monitoring.coreos.com"
VERSION = "operator.prometheus.io/version"
SELECTED = ("serviceMonitor", "podMonitor", "probe", "rule", "scrapeConfig")
SELECTORS = tuple(f"{what}{whose}" for what in SELECTED for whose in ("Selector", "NamespaceSelector"))


@dataclass(frozen=True)
class Custom:
    """An object of the operator's: whether it is Available and Reconciled, and why not. `narrow` are those selectors of
    a Prometheus that leave something out: an empty one takes all, none at all takes nothing (for namespaces: its own).
    """

    available: bool
    reconciled: bool
    why: str
    narrow: tuple[str, ...] = ()


def definitions(answer: Answer) -> Mapping[str, str]:
    """Version by name; empty for a definition without the annotation."""
    found = {}
    for entry in entries(answer):
        metadata = entry["metadata"]
        found[str(metadata["name"])] = str(metadata.get("annotations", {}).get(VERSION, ""))
    return found


def customs(answer: Answer) -> Mapping[str, Custom] | None:
    """By name; None while the API does not know the kind. Raises ValueError for another refusal."""
    known = entries_if_known(answer)
    if known is None:
        return None
    return {entry["metadata"]["name"]: custom(entry) for entry in known}


def custom(entry: Mapping[str, Any]) -> Custom:
    conditions: Sequence[Mapping[str, str]] = entry.get("status", {}).get("conditions", ())
    spec = entry.get("spec")
    narrow = [] if spec is None else [name for name in SELECTORS if spec.get(name) != {}]
    by_type = {found["type"]: found for found in conditions}
    # What keeps it from being made comes first: that it is not available may be a consequence.
    true = {kind: by_type.get(kind, {}).get("status", "") == "True" for kind in ("Reconciled", "Available")}
    why = next((by_type[kind].get("message", "") for kind, holds in true.items() if not holds and kind in by_type), "")
    return Custom(true["Available"], true["Reconciled"], why, tuple(narrow))


def vector(answer: Answer) -> Mapping[str, float]:
    """The values of an instant query, by the label `job`. Raises ValueError for what is no such answer."""
    return {sample["metric"].get("job", ""): parse_number(sample["value"][1]) for sample in samples(answer)}


def instant(expression: str) -> Api:
    """An instant query of the cluster's Prometheus, through the API server. The port's name is that of the chart."""
    service = "/api/v1/namespaces/$MONITORING/services/http:$RELEASE-prometheus:http-web/proxy"
    return Api(f"{service}/api/v1/query?query={quote(expression, safe='')}")


def samples(answer: Answer) -> list[Any]:
    """Of an instant query, each with its labels in `metric` and time and text of its `value`
    (https://prometheus.io/docs/prometheus/latest/querying/api). Raises ValueError for what is no vector."""
    body = load_json(answer.out)
    if body["status"] != "success" or body["data"]["resultType"] != "vector":
        raise ValueError(answer.out[:200])
    found: list[Any] = body["data"]["result"]
    return found


def kind(id: str, plural: str, *more: str) -> Probe[Mapping[str, Custom] | None]:
    path = f"/apis/{GROUP}/v1/namespaces/$MONITORING/{plural}"
    return Probe(id, Api(path, ("metadata.name", "status.conditions", *more)), customs, ends=(0, 1))


DEFINITIONS = Probe(
    "monitoring.definitions",
    Api(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        ("metadata.name", r"metadata.annotations.operator\.prometheus\.io/version"),
        metadata=True,
    ),
    definitions,
)
PROMETHEUSES = kind("monitoring.prometheuses", "prometheuses", *(f"spec.{name}" for name in SELECTORS))
ALERTMANAGERS = kind("monitoring.alertmanagers", "alertmanagers")
# 1 where every target of the job is up, 0 where one is not.
TARGETS = Probe("monitoring.targets", instant("min by (job) (up)"), vector)
