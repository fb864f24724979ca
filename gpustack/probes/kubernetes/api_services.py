"""Servers of API groups that are not the API server's own, and the endpoints of Services.

Kinds: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/api-service-v1 and
/service-resources/endpoint-slice-v1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.api_list import read_items
from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, FactUnavailable, Probe
from gpustack.probes.kubernetes.names import require_names
from gpustack.probes.kubernetes.nodes import list_objects, load_body
from gpustack.probes.parsing import parse_optional_time

SERVICE_NAME = "kubernetes.io/service-name"
CHANGE_TIME = "endpoints.kubernetes.io/last-change-trigger-time"
MOST_SLICES, CORE_GROUP = 500, "v1."


@dataclass(frozen=True)
class UnavailableApi:
    """Describe an APIService whose server is not available: `name` is VERSION.GROUP, `service` namespace/name, and
    `message` has the API server's words."""

    name: str
    service: str
    message: str
    onset: datetime | None


@dataclass(frozen=True)
class Endpoints:
    """Count the endpoints of a Service that are ready. `changed_at` is when one of them changed last."""

    ready: int
    changed_at: datetime | None


def parse_unavailable_apis(answer: Answer) -> tuple[UnavailableApi, ...]:
    """Parse the APIServices with a Service. The core group of the API server itself has a name that no other may have:
    `v1.`."""
    unavailable_apis = []
    for entry in read_items(load_body(answer)):
        if entry.get("metadata", {}).get("name") != CORE_GROUP:
            require_names(entry)
        conditions = {condition["type"]: condition for condition in entry.get("status", {}).get("conditions") or ()}
        available = conditions.get("Available", {})
        service = entry.get("spec", {}).get("service")
        if service and available.get("status") == "False":
            message, onset = shorten_message(str(available.get("message", ""))), available.get("lastTransitionTime")
            place = f"{service['namespace']}/{service['name']}"
            name = str(entry["metadata"]["name"])
            unavailable_apis.append(UnavailableApi(name, place, message, parse_optional_time(onset)))
    return tuple(unavailable_apis)


def parse_endpoints(answer: Answer) -> Mapping[str, Endpoints]:
    """Parse the endpoints of all Services, by namespace/name. Raise FactUnavailable where there are more slices than
    were asked for. An endpoint that does not say whether it is ready is ready, and a slice of none has null."""
    entries = list_objects(answer)
    if len(entries) >= MOST_SLICES:
        raise FactUnavailable(f"the cluster has {MOST_SLICES} EndpointSlices or more")
    endpoints: dict[str, Endpoints] = {}
    for entry in entries:
        metadata = entry["metadata"]
        name = f"{metadata['namespace']}/{metadata.get('labels', {}).get(SERVICE_NAME, '')}"
        before = endpoints.get(name, Endpoints(0, None))
        changed_at = parse_optional_time(metadata.get("annotations", {}).get(CHANGE_TIME))
        times = [time for time in (before.changed_at, changed_at) if time]
        endpoints[name] = Endpoints(before.ready + count_ready(entry), max(times, default=None))
    return endpoints


def count_ready(entry: Any) -> int:
    conditions = (endpoint.get("conditions", {}) for endpoint in entry.get("endpoints") or ())
    return sum(condition.get("ready") is not False for condition in conditions)


UNAVAILABLE_APIS = Probe(
    "api-services.unavailable",
    Api(
        "/apis/apiregistration.k8s.io/v1/apiservices",
        (
            "metadata.name", "spec.service", "status.conditions.type", "status.conditions.status",
            "status.conditions.message", "status.conditions.lastTransitionTime",
        ),
    ),
    parse_unavailable_apis,
)  # fmt: skip
ENDPOINTS = Probe(
    "api-services.endpoints",
    Api(
        f"/apis/discovery.k8s.io/v1/endpointslices?limit={MOST_SLICES}",
        (
            "metadata.name", "metadata.namespace", r"metadata.labels.kubernetes\.io/service-name",
            r"metadata.annotations.endpoints\.kubernetes\.io/last-change-trigger-time", "endpoints.conditions.ready",
        ),
    ),
    parse_endpoints,
)  # fmt: skip
