"""Grafana's data sources, as its side-car is given them: ConfigMaps with the label grafana_datasource."""

from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kube import entries
from gpustack.probes.read import yaml_mapping


def uids(answer: Answer) -> tuple[str, ...]:
    """Of every data source in every ConfigMap; one without a uid is left out. Raises ValueError for what is no YAML."""
    found: list[str] = []
    for entry in entries(answer):
        for text in entry.get("data", {}).values():
            sources: list[dict[str, Any]] = yaml_mapping(text).get("datasources") or []
            found += [str(source["uid"]) for source in sources if source.get("uid")]
    return tuple(found)


DATA_SOURCES = Probe(
    "grafana.data-sources",
    Api("/api/v1/configmaps?labelSelector=grafana_datasource%3D1", ("metadata.name", "data")),
    uids,
)
