"""Asks Grafana for values as a panel does: POST /api/ds/query, on the data source of a dashboard's uid.

The answer is data frames (columns): a field of times in milliseconds, and fields of numbers with the series' labels.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.config.dashboards.json_model import DATA_SOURCE
from gpustack.proof.http import NoAnswer, Web

SPAN, STEP, POINTS = 300, 15, 500
"""Seconds that the panel spans and between its points, and how many it could draw."""


class Refusal(Exception):
    """Grafana answers, and its data source does not: not there, or failing."""


@dataclass(frozen=True)
class Grafana:
    web: Web

    def panel(self, metric: str, now: float) -> dict[str, tuple[float, float]]:
        """By UUID, time in seconds and value of the last point. Raises NoAnswer, or Refusal."""
        status, response = self.web.post("/api/ds/query", build_question(metric, now))
        if isinstance(response, dict) and "results" in response:
            result = response["results"].get("A", {})
            if error := result.get("error") or (status != 200 and f"HTTP {status}"):
                raise Refusal(f"Grafana's data source {DATA_SOURCE}{self.url()} fails: {error}")
            return last_points(result.get("frames", ()))
        text = str(response.get("message", "") if isinstance(response, dict) else response)
        if status == 404 and "source" in text.lower():
            raise Refusal(f"Grafana has no data source with the uid {DATA_SOURCE}")
        if status in (401, 403):
            raise NoAnswer(f"Grafana refused the login of its own Secret (HTTP {status})")
        raise NoAnswer(f"Grafana gave no answer to a panel's question (HTTP {status}): {text or 'no reason given'}")

    def url(self) -> str:
        """Where the data source leads, for the reader of an error."""
        try:
            status, response = self.web.get(f"/api/datasources/uid/{DATA_SOURCE}")
        except NoAnswer:
            return ""
        return f" ({response['url']})" if status == 200 and isinstance(response, dict) and response.get("url") else ""


def build_question(metric: str, now: float) -> dict[str, Any]:
    asked = {
        "refId": "A",
        "datasource": {"type": "prometheus", "uid": DATA_SOURCE},
        "expr": metric,
        "range": True,
        "instant": False,
        "format": "time_series",
        "intervalMs": STEP * 1000,
        "maxDataPoints": POINTS,
    }
    return {"queries": [asked], "from": str(int((now - SPAN) * 1000)), "to": str(int(now * 1000))}


def last_points(frames: Any) -> dict[str, tuple[float, float]]:
    """The last point of each GPU; of several series of one the largest."""
    found: dict[str, tuple[float, float]] = {}
    for frame in frames:
        for uuid, last in read_columns(frame):
            found[uuid] = max(found.get(uuid, last), last)
    return found


def read_columns(frame: Mapping[str, Any]) -> Iterator[tuple[str, tuple[float, float]]]:
    fields, values = frame["schema"]["fields"], frame["data"]["values"]
    times = next((column for one, column in zip(fields, values, strict=True) if one["type"] == "time"), ())
    for one, column in zip(fields, values, strict=True):
        uuid = one.get("labels", {}).get("UUID") if one["type"] == "number" else None
        samples = [(at / 1000, float(value)) for at, value in zip(times, column, strict=True) if value is not None]
        if uuid and samples:
            yield uuid, samples[-1]
