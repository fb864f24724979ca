"""Grafana: its data sources and dashboards, as its side-cars are given them, and what it answers to its own login.

Side-cars take ConfigMaps with the labels grafana_datasource and grafana_dashboard (kube-prometheus-stack, values).
"""

import re
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.files.json_text import dump_json, load_json
from gpustack.probes.kubernetes.nodes import entries
from gpustack.probes.parsing import number, yaml_mapping

METRIC = re.compile(r"\bDCGM_(?:FI|EXP)_[A-Z0-9_]+\b")
SOURCE = ("uid", "url", "isDefault")
HOST_LABEL = re.compile(r"\b[Hh]ostname\b(?=\s*(?:[=!]|[,)]))")


@dataclass(frozen=True)
class DataSource:
    """`default`: panels that name none ask this one."""

    uid: str
    url: str
    default: bool


@dataclass(frozen=True)
class Dashboard:
    """`valid`: all of it is JSON. `metrics` are those of DCGM's that it names; `labels` how it calls the exporter's
    label of the host."""

    namespace: str
    name: str
    valid: bool
    metrics: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Response:
    """What Grafana answers: HTTP status for its Secret's login and for the health of the data source `prometheus`, 0
    where none came; `samples`: a question for GPUs by way of that source has an answer with values; `registered` is
    not so where Grafana has lost the plugin of Prometheus' data sources (messageId plugin.notRegistered)."""

    login: int
    health: int
    samples: bool
    registered: bool = True


def data_sources(answer: Answer) -> tuple[DataSource, ...]:
    """Of every ConfigMap; one without a uid is left out. Raises ValueError for what is no YAML."""
    found: list[DataSource] = []
    for entry in entries(answer):
        for text in entry.get("data", {}).values():
            sources: list[dict[str, Any]] = yaml_mapping(text).get("datasources") or []
            found += [
                DataSource(str(one["uid"]), str(one.get("url", "")), one.get("isDefault") is True)
                for one in sources
                if one.get("uid")
            ]
    return tuple(found)


def data_sources_only(text: str) -> str:
    """Of each source what is read: others hold logins. What is no YAML mapping stays none."""
    items = load_json(text)["items"]
    for entry in items:
        entry["data"] = {key: sources_only(value) for key, value in (entry.get("data") or {}).items()}
    return dump_json({"items": items}, separators=(",", ":"))


def sources_only(text: str) -> str:
    """JSON, which is YAML too."""
    try:
        sources = yaml_mapping(text).get("datasources") or []
    except ValueError:
        return ""
    return dump_json({"datasources": [{key: one[key] for key in SOURCE if key in one} for one in sources]})


def dashboards(answer: Answer) -> tuple[Dashboard, ...]:
    return tuple(
        dashboard(entry["metadata"], [str(text) for text in entry.get("data", {}).values()])
        for entry in entries(answer)
    )


def dashboard(metadata: Any, texts: list[str]) -> Dashboard:
    whole = "\n".join(texts)
    return Dashboard(
        metadata["namespace"],
        metadata["name"],
        all(is_readable(text) for text in texts),
        tuple(sorted(set(METRIC.findall(whole)))),
        tuple(sorted(set(HOST_LABEL.findall(whole)))) if METRIC.search(whole) else (),
    )


def dashboards_only(text: str) -> str:
    """Of each text the words that are looked for, as JSON where it was JSON."""
    items = load_json(text)["items"]
    for entry in items:
        entry["data"] = {key: words_only(str(value)) for key, value in (entry.get("data") or {}).items()}
    return dump_json({"items": items}, separators=(",", ":"))


def words_only(text: str) -> str:
    labels = [f"{label}=" for label in HOST_LABEL.findall(text)]
    words = sorted({*METRIC.findall(text), *labels})
    return dump_json({"words": words}) if is_readable(text) else " ".join(["no JSON:", *words])


def is_readable(text: str) -> bool:
    try:
        return isinstance(load_json(text), dict)
    except (ValueError, RecursionError):
        return False


def read_response(answer: Answer) -> Response | None:
    """None on a host that has no way to ask, or a cluster without Grafana. Raises ValueError for another shape."""
    if not answer.out:
        return None
    login, health, samples, *plugin = answer.out.split()
    if plugin not in ([], ["unregistered"]):
        raise ValueError(answer.out)
    return Response(number(login), number(health), {"yes": True, "no": False}[samples], not plugin)


DATA_SOURCES = Probe(
    "grafana.data-sources",
    Api("/api/v1/configmaps?labelSelector=grafana_datasource%3D1", ("metadata.name", "data")),
    data_sources,
    shorten=data_sources_only,
)
# Those that the chart itself brings are many, and have nothing about GPUs.
DASHBOARDS = Probe(
    "grafana.dashboards",
    Api(
        "/api/v1/configmaps?labelSelector=grafana_dashboard%3D1%2Capp%21%3Dkube-prometheus-stack-grafana",
        ("metadata.name", "metadata.namespace", "data"),
    ),
    dashboards,
    shorten=dashboards_only,
)
# The password stays on the host, and is in no argument. One that is refused is tried once: Grafana locks a user out for
# five minutes after five failed logins (configure-grafana/#brute_force_login_protection_max_attempts).
RESPONSE = Probe(
    "grafana.response",
    Lines(read_script(__file__, "response.sh")),
    read_response,
    like="curl -u USER:PASSWORD http://GRAFANA/api/org",
)
