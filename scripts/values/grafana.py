"""Pieces of a Grafana dashboard as dictionaries, and their places on the grid of 24 columns."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

Panel = dict[str, Any]

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
# Headings of the labels that tables have, in this order, and widths in pixels; those without share what is left, which
# a UUID needs.
HEADINGS = {
    "node": ("Node", 160),
    "gpu": ("GPU", 70),
    "GPU_I_PROFILE": ("MIG", 90),
    "GPU_I_ID": ("Instance", 90),
    "modelName": ("Model", 220),
    "workload_namespace": ("Namespace", 0),
    "workload_pod": ("Pod", 0),
    "UUID": ("UUID", 0),
}
VALUE_WIDTH = 130


def query(expr: str, legend: str = "", *, instant: bool = False) -> dict[str, Any]:
    return {
        "datasource": SOURCE,
        "editorMode": "code",
        "expr": expr,
        "instant": instant,
        "range": not instant,
        "format": "table" if instant and not legend else "time_series",
        "legendFormat": legend or "__auto",
    }


def panel(kind: str, title: str, unit: str, queries: Iterable[dict[str, Any]], *, why: str, empty: str) -> Panel:
    """A panel without a place. `empty` is the text where there is no data, and says what that means."""
    return {
        "type": kind,
        "title": title,
        "description": why,
        "datasource": SOURCE,
        "targets": [one | {"refId": chr(ord("A") + index)} for index, one in enumerate(queries)],
        "fieldConfig": {"defaults": {"unit": unit, "noValue": empty}, "overrides": []},
        "options": {},
    }


def lines(
    title: str,
    unit: str,
    *queries: dict[str, Any],
    why: str,
    empty: str = "no data",
    top: float | None = None,
    width: int = 12,
) -> Panel:
    """Lines over time. `top` is the upper end of the axis where it is known, as 1 for a ratio."""
    made = panel("timeseries", title, unit, queries, why=why, empty=empty)
    defaults = made["fieldConfig"]["defaults"]
    defaults["min"] = 0
    if top is not None:
        defaults["max"] = top
    defaults["custom"] = {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 0,
        "showPoints": "never",
        "spanNulls": False,
    }
    made["options"] = {
        "legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return made | {"gridPos": {"w": width, "h": 8}}


def number(
    title: str,
    unit: str,
    expr: str,
    *,
    why: str,
    empty: str = "no data",
    steps: Mapping[str, float] | None = None,
    width: int = 4,
) -> Panel:
    """One number of now. `steps`: colour -> value from which it holds."""
    made = panel("stat", title, unit, [query(expr, title, instant=True)], why=why, empty=empty)
    made["fieldConfig"]["defaults"]["thresholds"] = {
        "mode": "absolute",
        "steps": [{"color": "green", "value": None}]
        + [{"color": colour, "value": value} for colour, value in (steps or {}).items()],
    }
    made["options"] = {
        "colorMode": "value",
        "graphMode": "none",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    }
    return made | {"gridPos": {"w": width, "h": 4}}


def table(title: str, *columns: tuple[str, str, str], why: str, empty: str = "no data", height: int = 9) -> Panel:
    """One line per GPU of now. `columns`: (heading, unit, expr)."""
    queries = [query(expr, instant=True) for _, _, expr in columns]
    made = panel("table", title, "none", queries, why=why, empty=empty)
    names = {f"Value #{chr(ord('A') + index)}": heading for index, (heading, _, _) in enumerate(columns)}
    if len(columns) == 1:
        names["Value"] = columns[0][0]
    labels = {label: heading for label, (heading, _) in HEADINGS.items()}
    order = {label: place for place, label in enumerate(HEADINGS)}
    made["transformations"] = [
        {"id": "merge", "options": {}},
        {
            "id": "organize",
            "options": {"excludeByName": {"Time": True}, "renameByName": labels | names, "indexByName": order},
        },
    ]
    made["fieldConfig"]["overrides"] = [
        *(column(heading, {"unit": unit, "noValue": "-", "custom.width": VALUE_WIDTH}) for heading, unit, _ in columns),
        *(column(heading, {"custom.width": width}) for heading, width in HEADINGS.values() if width),
    ]
    sorted_by = [{"displayName": heading, "desc": False} for heading in ("Node", "GPU")]
    made["options"] = {"showHeader": True, "cellHeight": "sm", "sortBy": sorted_by}
    return made | {"gridPos": {"w": COLUMNS, "h": height}}


def column(name: str, properties: Mapping[str, object]) -> dict[str, Any]:
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [{"id": id, "value": value} for id, value in properties.items()],
    }


def heading(title: str) -> Panel:
    return {"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": {"w": COLUMNS, "h": 1}}


def placed(panels: Iterable[Panel]) -> list[Panel]:
    """Left to right, a new line where the next one does not fit; ids in reading order."""
    x = y = height = 0
    done = []
    for id, one in enumerate(panels, 1):
        size = one["gridPos"]
        if x + size["w"] > COLUMNS:
            x, y, height = 0, y + height, 0
        done.append({"id": id} | one | {"gridPos": size | {"x": x, "y": y}})
        x, height = x + size["w"], max(height, size["h"])
    return done


def variable(
    name: str, label: str, series: str, *, key: str = "", kept: str = "", several: bool = True
) -> dict[str, Any]:
    """A choice among the values of the label `key` (default: `name`) of these series; `kept` is a regular expression,
    of which the first group counts. One value instead of `several` cannot be all of them either."""
    asked = f"label_values({series}, {key or name})"
    made = {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "definition": asked,
        "query": {"query": asked, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": several,
        "includeAll": several,
    }
    if kept:
        made["regex"] = f"/{kept}/"
    every = {"allValue": ".*", "current": {"text": ["All"], "value": ["$__all"]}}
    return made | every if several else made


def dashboard(uid: str, title: str, about: str, variables: list[dict[str, Any]], panels: Iterable[Panel]) -> str:
    source = {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {"text": "Prometheus", "value": "prometheus"},
    }
    whole = {
        "uid": uid,
        "title": title,
        "description": about,
        "tags": ["gpustack"],
        "schemaVersion": 41,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "links": [
            {
                "type": "dashboards",
                "title": "GPU dashboards",
                "tags": ["gpustack"],
                "asDropdown": True,
                "keepTime": True,
            }
        ],
        "annotations": {"list": []},
        "templating": {"list": [source, *variables]},
        "panels": placed(panels),
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
