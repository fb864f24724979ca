"""Dashboards of values/dashboards with the answers to their queries, shaped as by Grafana's Prometheus data source."""

import json
import re
from collections.abc import Mapping
from typing import Any

from gpustack.config.resources import locate_shipped_values
from scripts.pictures.cluster import NAMESPACE
from scripts.pictures.prometheus import Prometheus
from scripts.pictures.series import STEP

# Values of the variables that a reader chooses; `.*` is All.
CHOICES = {
    "gpu-overview": {"node": ".*"},
    "gpu-node": {"node": "gpu1"},
    "gpu-detail": {"node": "gpu1", "UUID": ".*"},
    "gpu-health": {"node": "gpu2", "UUID": ".*"},
    "gpu-job": {
        "namespace": NAMESPACE,
        "pod": "train-0",
        "metric": "training_loss",
        "counter": "training_samples_total",
        "timing": "training_step_seconds",
    },
}
# Grafana's own: four scrapes, and the hour that is shown.
MACROS = {"__rate_interval": f"{4 * STEP}s", "__range": "1h"}


def build_dashboard(name: str, server: Prometheus) -> dict[str, Any]:
    """Build a dashboard with `frames` in each panel: tables of columns, as JSON."""
    text = (locate_shipped_values() / "dashboards" / f"{name}.json").read_text()
    choices = CHOICES[name] | MACROS
    board: dict[str, Any] = json.loads(
        re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda match: fill_variable(match, choices), text)
    )
    for panel in board["panels"]:
        has_several = len(panel.get("targets", [])) > 1
        panel["frames"] = [
            frame for target in panel.get("targets", []) for frame in build_frames(target, server, several=has_several)
        ]
    return board | {"chosen": CHOICES[name], "from": server.begin * 1000, "to": server.end * 1000}


def fill_variable(match: re.Match[str], choices: Mapping[str, str]) -> str:
    return choices.get(match[1] or match[2], match[0])


def build_frames(target: dict[str, Any], server: Prometheus, *, several: bool) -> list[dict[str, Any]]:
    if target["format"] == "table":
        return [
            build_table_frame(server.query_instant(target["expr"]), f"Value #{target['refId']}" if several else "Value")
        ]
    if target["instant"]:
        series = [
            vector_entry | {"values": [vector_entry["value"]]} for vector_entry in server.query_instant(target["expr"])
        ]
    else:
        series = server.query_hour(target["expr"])
    return [build_line_frame(frame_series, target["legendFormat"]) for frame_series in series]


def build_line_frame(series: Mapping[str, Any], legend: str) -> dict[str, Any]:
    """Build a column of milliseconds and one of values. Without a name, Grafana makes one of the labels."""
    series_name = re.sub(r"\{\{(\w+)\}\}", lambda match: series["metric"].get(match[1], ""), legend)
    times, numbers = zip(*series["values"], strict=True)
    return {
        "name": "" if legend == "__auto" else series_name,
        "labels": series["metric"],
        "times": [timestamp * 1000 for timestamp in times],
        "values": [float(number) for number in numbers],
    }


def build_table_frame(vector: list[dict[str, Any]], heading: str) -> dict[str, Any]:
    """Build a column for each label and one of values; there are none without data."""
    labels = sorted({label for series in vector for label in series["metric"]})
    columns = {label: [series["metric"].get(label, "") for series in vector] for label in labels}
    return {"columns": columns, "heading": heading, "values": [float(series["value"][1]) for series in vector]}
