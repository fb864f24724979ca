"""Objects of monitoring: the definitions of the Prometheus operator, its Prometheus and Alertmanager, and the scraped
jobs.

Conditions and their reasons: prometheus-operator Documentation/api-reference/api.md. The version of the definitions
stands in their annotation operator.prometheus.io/version.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.json_text import load_json
from gpustack.files.number import parse_number
from gpustack.probes.kubernetes.nodes import list_objects, list_objects_if_known

GROUP = "monitoring.coreos.com"
PROMETHEUS = "/api/v1/namespaces/$MONITORING/services/http:$RELEASE-prometheus:http-web/proxy"
"""The path at the API server to the cluster's Prometheus. The port's name is that of the chart."""
ALERTMANAGER = "/api/v1/namespaces/$MONITORING/services/http:$RELEASE-alertmanager:http-web/proxy"
"""The path at the API server to the cluster's Alertmanager, also with the chart's name of the port."""
VERSION = "operator.prometheus.io/version"
SELECTED_KINDS = ("serviceMonitor", "podMonitor", "probe", "rule", "scrapeConfig")
SELECTORS = tuple(f"{prefix}{suffix}" for prefix in SELECTED_KINDS for suffix in ("Selector", "NamespaceSelector"))


@dataclass(frozen=True)
class CustomResource:
    """Describe an object of the operator: whether it is Available and Reconciled, and why not.

    `narrow` are those selectors of a Prometheus that leave objects out: an empty one takes all, an absent one nothing
    (for namespaces: its own). `prefix` is the path below which a Prometheus serves, None where nothing sets it.
    """

    available: bool
    reconciled: bool
    reason: str
    narrow: tuple[str, ...] = ()
    prefix: str | None = None


def parse_definitions(answer: Answer) -> Mapping[str, str]:
    """Parse the version by name; empty for a definition without the annotation."""
    definitions = {}
    for entry in list_objects(answer):
        metadata = entry["metadata"]
        definitions[str(metadata["name"])] = str(metadata.get("annotations", {}).get(VERSION, ""))
    return definitions


def parse_custom_resources(answer: Answer) -> Mapping[str, CustomResource] | None:
    """Parse the objects by name, or None while the API does not know the kind. Raise ValueError where it refuses for
    another reason."""
    objects = list_objects_if_known(answer)
    if objects is None:
        return None
    return {entry["metadata"]["name"]: parse_custom_resource(entry) for entry in objects}


def parse_custom_resource(entry: Mapping[str, Any]) -> CustomResource:
    conditions: Sequence[Mapping[str, str]] = entry.get("status", {}).get("conditions", ())
    spec = entry.get("spec")
    narrow_selectors = [] if spec is None else [name for name in SELECTORS if spec.get(name) != {}]
    by_type = {condition["type"]: condition for condition in conditions}
    # What keeps it from being made comes first: that it is not available may be a consequence.
    status_by_kind = {kind: by_type.get(kind, {}).get("status", "") == "True" for kind in ("Reconciled", "Available")}
    reason = next(
        (by_type[kind].get("message", "") for kind, holds in status_by_kind.items() if not holds and kind in by_type),
        "",
    )
    prefix = (spec or {}).get("routePrefix")
    return CustomResource(
        status_by_kind["Available"], status_by_kind["Reconciled"], reason, tuple(narrow_selectors), prefix
    )


def parse_by_label(label: str) -> Callable[[Answer], Mapping[str, float]]:
    """Return a parser of the values of an instant query, by a label, which raises ValueError where the answer is none
    to an instant query."""

    def parse_values(answer: Answer) -> Mapping[str, float]:
        return {sample["metric"].get(label, ""): parse_number(sample["value"][1]) for sample in list_samples(answer)}

    return parse_values


def parse_sample_rate(answer: Answer) -> float:
    """Parse the samples that Prometheus appends in a second. Raise ValueError where it does not scrape itself, or has
    not for long enough."""
    (sample,) = list_samples(answer)
    return parse_number(sample["value"][1], 0)


def build_query(expression: str) -> Api:
    """Build an instant query of the cluster's Prometheus through the API server."""
    return Api(f"{PROMETHEUS}/api/v1/query?query={quote(expression, safe='')}")


def load_data(answer: Answer) -> Any:
    """Load the data of an answer of Prometheus. Raise ValueError where it reports an error."""
    body = load_json(answer.stdout)
    if body["status"] != "success":
        raise ValueError(shorten_message(answer.stdout))
    return body["data"]


def list_samples(answer: Answer) -> list[Any]:
    """List the samples of an instant query, each with its labels in `metric` and time and text of its `value`
    (https://prometheus.io/docs/prometheus/latest/querying/api).

    Raise ValueError where the answer is no vector.
    """
    data = load_data(answer)
    if data["resultType"] != "vector":
        raise ValueError(shorten_message(answer.stdout))
    samples: list[Any] = data["result"]
    return samples


def build_probe(id: str, plural: str, *extra_fields: str) -> Probe[Mapping[str, CustomResource] | None]:
    path = f"/apis/{GROUP}/v1/namespaces/$MONITORING/{plural}"
    return Probe(
        id, Api(path, ("metadata.name", "status.conditions", *extra_fields)), parse_custom_resources, exit_codes=(0, 1)
    )


DEFINITIONS = Probe(
    "monitoring.definitions",
    Api(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        ("metadata.name", r"metadata.annotations.operator\.prometheus\.io/version"),
        metadata=True,
    ),
    parse_definitions,
)
PROMETHEUSES = build_probe(
    "monitoring.prometheuses", "prometheuses", *(f"spec.{name}" for name in (*SELECTORS, "routePrefix"))
)
ALERTMANAGERS = build_probe("monitoring.alertmanagers", "alertmanagers")
# 1 where every target of the job is up, 0 where one is not.
TARGETS = Probe("monitoring.targets", build_query("min by (job) (up)"), parse_by_label("job"))
# By Prometheus: somebody else's may be scraped, too, and the largest is not smaller than this one.
SAMPLE_RATE = Probe(
    "monitoring.sample-rate",
    build_query("max(sum by (job, namespace, pod) (rate(prometheus_tsdb_head_samples_appended_total[10m])))"),
    parse_sample_rate,
)
