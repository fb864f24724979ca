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


def build_query(expr: str, legend: str = "", *, instant: bool = False) -> dict[str, Any]:
    return {
        "datasource": SOURCE,
        "editorMode": "code",
        "expr": expr,
        "instant": instant,
        "range": not instant,
        "format": "table" if instant and not legend else "time_series",
        "legendFormat": legend or "__auto",
    }


def build_panel(
    kind: str, title: str, unit: str, queries: Iterable[dict[str, Any]], *, description: str, empty: str
) -> Panel:
    """Build a panel without a place. `empty` is the text where there is no data, and says what that means."""
    return {
        "type": kind,
        "title": title,
        "description": description,
        "datasource": SOURCE,
        "targets": [target | {"refId": chr(ord("A") + index)} for index, target in enumerate(queries)],
        "fieldConfig": {"defaults": {"unit": unit, "noValue": empty}, "overrides": []},
        "options": {},
    }


def build_lines(
    title: str,
    unit: str,
    *queries: dict[str, Any],
    description: str,
    empty: str = "no data",
    top: float | None = None,
    width: int = 12,
    words: Mapping[int, str] | None = None,
) -> Panel:
    """Build a panel of lines over time. `top` is the upper end of the axis where it is known, as 1 for a ratio. `words`
    are shown in place of the values that are codes."""
    panel = build_panel("timeseries", title, unit, queries, description=description, empty=empty)
    defaults = panel["fieldConfig"]["defaults"]
    defaults["min"] = 0
    if top is not None:
        defaults["max"] = top
    if words:
        defaults["decimals"] = 0
        options = {str(code): {"index": index, "text": word} for index, (code, word) in enumerate(words.items())}
        defaults["mappings"] = [{"type": "value", "options": options}]
    defaults["custom"] = {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 0,
        "showPoints": "never",
        "spanNulls": False,
    }
    panel["options"] = {
        "legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return panel | {"gridPos": {"w": width, "h": 8}}


def build_number(
    title: str,
    unit: str,
    expr: str,
    *,
    description: str,
    empty: str = "no data",
    steps: Mapping[str, float] | None = None,
    width: int = 4,
) -> Panel:
    """Build a panel of one current number. `steps` maps a colour to the value from which it holds."""
    panel = build_panel(
        "stat", title, unit, [build_query(expr, title, instant=True)], description=description, empty=empty
    )
    panel["fieldConfig"]["defaults"]["thresholds"] = {
        "mode": "absolute",
        "steps": [{"color": "green", "value": None}]
        + [{"color": colour, "value": value} for colour, value in (steps or {}).items()],
    }
    panel["options"] = {
        "colorMode": "value",
        "graphMode": "none",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    }
    return panel | {"gridPos": {"w": width, "h": 4}}


def build_table(
    title: str, *columns: tuple[str, str, str], description: str, empty: str = "no data", height: int = 9
) -> Panel:
    """Build a table with one line per GPU. `columns` are (heading, unit, expr)."""
    queries = [build_query(expr, instant=True) for _, _, expr in columns]
    panel = build_panel("table", title, "none", queries, description=description, empty=empty)
    names = {f"Value #{chr(ord('A') + index)}": heading for index, (heading, _, _) in enumerate(columns)}
    if len(columns) == 1:
        names["Value"] = columns[0][0]
    labels = {label: heading for label, (heading, _) in HEADINGS.items()}
    order = {label: place for place, label in enumerate(HEADINGS)}
    panel["transformations"] = [
        {"id": "merge", "options": {}},
        {
            "id": "organize",
            "options": {"excludeByName": {"Time": True}, "renameByName": labels | names, "indexByName": order},
        },
    ]
    panel["fieldConfig"]["overrides"] = [
        *(
            build_column(heading, {"unit": unit, "noValue": "-", "custom.width": VALUE_WIDTH})
            for heading, unit, _ in columns
        ),
        *(build_column(heading, {"custom.width": width}) for heading, width in HEADINGS.values() if width),
    ]
    sort_columns = [{"displayName": heading, "desc": False} for heading in ("Node", "GPU")]
    panel["options"] = {"showHeader": True, "cellHeight": "sm", "sortBy": sort_columns}
    return panel | {"gridPos": {"w": COLUMNS, "h": height}}


def build_column(name: str, properties: Mapping[str, object]) -> dict[str, Any]:
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [{"id": id, "value": value} for id, value in properties.items()],
    }


def build_heading(title: str) -> Panel:
    return {"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": {"w": COLUMNS, "h": 1}}


def place_panels(panels: Iterable[Panel]) -> list[Panel]:
    """Place panels left to right, in a new line where the next one does not fit; ids are in reading order. A line that
    is not full is stretched."""
    lines: list[list[Panel]] = [[]]
    for panel in panels:
        if sum_widths(lines[-1]) + panel["gridPos"]["w"] > COLUMNS:
            lines.append([])
        lines[-1].append(panel)
    placed_panels: list[Panel] = []
    y = 0
    for line in lines:
        x, line_width = 0, sum_widths(line)
        for panel in line:
            size = panel["gridPos"]
            width = size["w"] * COLUMNS // line_width
            placed_panels.append(
                {"id": len(placed_panels) + 1} | panel | {"gridPos": size | {"x": x, "y": y, "w": width}}
            )
            x += width
        y += max(panel["gridPos"]["h"] for panel in line)
    return placed_panels


def sum_widths(panels: Iterable[Panel]) -> int:
    return sum(panel["gridPos"]["w"] for panel in panels)


def build_variable(
    name: str, label: str, series: str, *, key: str = "", pattern: str = "", several: bool = True
) -> dict[str, Any]:
    """Build a choice among the values of the label `key` (default: `name`) of these series; the first group of the
    regular expression `pattern` counts. A variable without `several` cannot be all values either."""
    query = f"label_values({series}, {key or name})"
    variable = {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": several,
        "includeAll": several,
    }
    if pattern:
        variable["regex"] = f"/{pattern}/"
    all_choices = {"allValue": ".*", "current": {"text": ["All"], "value": ["$__all"]}}
    return variable | all_choices if several else variable


def render_dashboard(
    uid: str, title: str, description: str, variables: list[dict[str, Any]], panels: Iterable[Panel]
) -> str:
    source = {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {"text": "Prometheus", "value": "prometheus"},
    }
    dashboard = {
        "uid": uid,
        "title": title,
        "description": description,
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
        "panels": place_panels(panels),
    }
    return json.dumps(dashboard, indent=2, ensure_ascii=False) + "\n"
