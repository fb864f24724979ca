"""Client of Grafana that queries values as a panel does, by POST /api/ds/query on the data source of a dashboard.

The answer has data frames (columns): a field of times in milliseconds, and fields of numbers with the labels of a
series.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import UNREADABLE
from gpustack.config.dashboards.json_model import DATA_SOURCE
from gpustack.proof.http import NoAnswer, Web

SPAN, STEP, POINTS = 300, 15, 500
"""The span of the panel in seconds, the seconds between its points, and the largest number of points."""


class Refusal(Exception):
    """Report that Grafana answered, and that its data source is missing or fails."""


@dataclass(frozen=True)
class Grafana:
    """Query Grafana through `web`."""

    web: Web

    def query_panel(self, metric: str, time: float) -> dict[str, tuple[float, float]]:
        """Query the time in seconds and the value of the last point by UUID. Raise NoAnswer and Refusal."""
        status, response = self.web.post("/api/ds/query", build_question(metric, time))
        if isinstance(response, dict) and "results" in response:
            try:
                result = response["results"].get("A", {})
                error, points = result.get("error"), select_last_points(result.get("frames") or ())
            except UNREADABLE as wrong:
                raise NoAnswer("Grafana answered a panel's query in another shape") from wrong
            if error := error or (status != 200 and f"HTTP {status}"):
                raise Refusal(f"Grafana's data source {DATA_SOURCE}{self.describe_url()} fails: {error}")
            return points
        text = str(response.get("message", "") if isinstance(response, dict) else response)
        if status == 404 and "source" in text.lower():
            raise Refusal(f"Grafana has no data source with the uid {DATA_SOURCE}")
        if status in (401, 403):
            raise NoAnswer(f"Grafana refused the login of its own Secret (HTTP {status})")
        raise NoAnswer(f"Grafana gave no answer to a panel's query (HTTP {status}): {text or 'no reason given'}")

    def describe_url(self) -> str:
        """Describe the URL of the data source for an error message."""
        try:
            status, response = self.web.get(f"/api/datasources/uid/{DATA_SOURCE}")
        except NoAnswer:
            return ""
        return f" ({response['url']})" if status == 200 and isinstance(response, dict) and response.get("url") else ""


def build_question(metric: str, end: float) -> dict[str, Any]:
    query = {
        "refId": "A",
        "datasource": {"type": "prometheus", "uid": DATA_SOURCE},
        "expr": metric,
        "range": True,
        "instant": False,
        "format": "time_series",
        "intervalMs": STEP * 1000,
        "maxDataPoints": POINTS,
    }
    return {"queries": [query], "from": str(int((end - SPAN) * 1000)), "to": str(int(end * 1000))}


def select_last_points(frames: Any) -> dict[str, tuple[float, float]]:
    """Select the last point of each GPU. The latest point is used where a GPU has several series."""
    points: dict[str, tuple[float, float]] = {}
    for frame in frames:
        for uuid, last in read_columns(frame):
            points[uuid] = max(points.get(uuid, last), last)
    return points


def read_columns(frame: Mapping[str, Any]) -> Iterator[tuple[str, tuple[float, float]]]:
    fields, values = frame["schema"]["fields"], frame["data"]["values"]
    times = next((column for field, column in zip(fields, values, strict=True) if field["type"] == "time"), ())
    for field, column in zip(fields, values, strict=True):
        uuid = field.get("labels", {}).get("UUID") if field["type"] == "number" else None
        samples = [(time / 1000, float(value)) for time, value in zip(times, column, strict=True) if value is not None]
        if uuid and samples:
            yield uuid, samples[-1]
