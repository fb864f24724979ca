"""Probes of Grafana: its data sources and dashboards, as its side-cars read them, and its answers to its own login.

Side-cars read ConfigMaps with the labels grafana_datasource and grafana_dashboard (kube-prometheus-stack, values).
"""

import re
from dataclasses import dataclass
from typing import Any

from gpustack.ask.api_list import read_items
from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.files.json_text import dump_json, load_json
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.parsing import FLAGS, parse_integer, parse_yaml_mapping

METRIC = re.compile(r"\bDCGM_(?:FI|EXP)_[A-Z0-9_]+\b")
SOURCE = ("uid", "url", "isDefault")
HOST_LABEL = re.compile(r"\b[Hh]ostname\b(?=\s*(?:[=!]|[,)]))")


@dataclass(frozen=True)
class DataSource:
    """Describe a data source. `default`: panels that name no source ask this one."""

    uid: str
    url: str
    default: bool


@dataclass(frozen=True)
class Dashboard:
    """Describe a dashboard. `valid`: all of it is JSON. `metrics` are those of DCGM that it names; `labels` are its
    words for the exporter's label of the host."""

    namespace: str
    name: str
    valid: bool
    metrics: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Response:
    """Hold the answers of Grafana: the HTTP status for its Secret's login and for the health of the data source
    `prometheus`, 0 where none came.

    `samples`: a query for GPUs through that source has an answer with values; `registered` is false where Grafana has
    lost the plugin of Prometheus' data sources (messageId plugin.notRegistered).
    """

    login: int
    health: int
    samples: bool
    registered: bool = True


def parse_data_sources(answer: Answer) -> tuple[DataSource, ...]:
    """Parse the data sources of every ConfigMap; one without a uid is left out. Raise ValueError where a text is no
    YAML."""
    data_sources: list[DataSource] = []
    for entry in list_objects(answer):
        for text in entry.get("data", {}).values():
            sources: list[dict[str, Any]] = parse_yaml_mapping(text).get("datasources") or []
            data_sources += [
                DataSource(str(source["uid"]), str(source.get("url", "")), source.get("isDefault") is True)
                for source in sources
                if source.get("uid")
            ]
    return tuple(data_sources)


def prune_data_sources(text: str) -> str:
    """Keep the fields of each source that are read: the others hold logins. A text that is no YAML mapping stays so."""
    items = read_items(load_json(text))
    for entry in items:
        entry["data"] = {key: prune_data_source_text(value) for key, value in (entry.get("data") or {}).items()}
    return dump_json({"items": items}, separators=(",", ":"))


def prune_data_source_text(text: str) -> str:
    """Keep the read fields of one text, and return it as JSON, which is YAML too."""
    try:
        sources = parse_yaml_mapping(text).get("datasources") or []
    except ValueError:
        return ""
    return dump_json({"datasources": [{key: source[key] for key in SOURCE if key in source} for source in sources]})


def parse_dashboards(answer: Answer) -> tuple[Dashboard, ...]:
    return tuple(
        parse_dashboard(entry["metadata"], [str(text) for text in entry.get("data", {}).values()])
        for entry in list_objects(answer)
    )


def parse_dashboard(metadata: Any, texts: list[str]) -> Dashboard:
    contents = "\n".join(texts)
    return Dashboard(
        metadata["namespace"],
        metadata["name"],
        all(is_json_object(text) for text in texts),
        tuple(sorted(set(METRIC.findall(contents)))),
        tuple(sorted(set(HOST_LABEL.findall(contents)))) if METRIC.search(contents) else (),
    )


def prune_dashboards(text: str) -> str:
    """Keep the words of each text that are searched for, as JSON where it was JSON."""
    items = read_items(load_json(text))
    for entry in items:
        entry["data"] = {key: prune_dashboard_text(str(value)) for key, value in (entry.get("data") or {}).items()}
    return dump_json({"items": items}, separators=(",", ":"))


def prune_dashboard_text(text: str) -> str:
    labels = [f"{label}=" for label in HOST_LABEL.findall(text)]
    words = sorted({*METRIC.findall(text), *labels})
    return dump_json({"words": words}) if is_json_object(text) else " ".join(["no JSON:", *words])


def is_json_object(text: str) -> bool:
    try:
        return isinstance(load_json(text), dict)
    except (ValueError, RecursionError):
        return False


def parse_response(answer: Answer) -> Response | None:
    """Parse the answers, or None on a host that has no way to ask, or in a cluster without Grafana.

    Raise ValueError where the answer has another shape.
    """
    if not answer.stdout:
        return None
    login, health, samples, *plugin = answer.stdout.split()
    if plugin not in ([], ["unregistered"]):
        raise ValueError(answer.stdout)
    return Response(parse_integer(login), parse_integer(health), FLAGS[samples], not plugin)


DATA_SOURCES = Probe(
    "grafana.data-sources",
    Api("/api/v1/configmaps?labelSelector=grafana_datasource%3D1", ("metadata.name", "data")),
    parse_data_sources,
    pruner=prune_data_sources,
)
# Those that the chart itself brings are many, and have nothing about GPUs.
DASHBOARDS = Probe(
    "grafana.dashboards",
    Api(
        "/api/v1/configmaps?labelSelector=grafana_dashboard%3D1%2Capp%21%3Dkube-prometheus-stack-grafana",
        ("metadata.name", "metadata.namespace", "data"),
    ),
    parse_dashboards,
    pruner=prune_dashboards,
)
# The password stays on the host, and is in no argument. One that is refused is tried once: Grafana locks a user out for
# five minutes after five failed logins (configure-grafana/#brute_force_login_protection_max_attempts).
RESPONSE = Probe(
    "grafana.response",
    Lines(read_script(__file__, "response.sh")),
    parse_response,
    manual_command="curl -u USER:PASSWORD http://GRAFANA/api/org",
)
