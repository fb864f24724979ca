"""What a Prometheus, Thanos or Mimir has: series at one moment or over a time, whoever runs it.

The HTTP API: https://prometheus.io/docs/prometheus/latest/querying/api/
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlencode

from gpustack.ask.redact.printable import flatten
from gpustack.command import Command
from gpustack.errors import UnreachableError, UsageError
from gpustack.files.json_text import load_json
from gpustack.metrics.web import BUSY, Access, Web

# A range has at most 11,000 points (web/api/v1/api.go of Prometheus): a longer one is asked for in pages.
PAGE = 10_000
Data = TypeVar("Data")


@dataclass(frozen=True)
class Series:
    """`points` are (seconds since 1970, value) in the order of time."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Found:
    """`warnings` are the server's: with Thanos, that a part of it did not answer."""

    series: tuple[Series, ...]
    warnings: tuple[str, ...] = ()


class Prometheus:
    """Raises UsageError for an address that is none, and for a query that the server does not take; UnreachableError
    for a server that does not answer, or not as Prometheus does."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.web = Web(access)

    def instant(self, expr: str, at: float | None = None) -> Found:
        """At that moment, or now: one point in each series; of a range vector (`up[2m]`) its samples as they are."""
        words = {"query": expr} | ({"time": repr(at)} if at is not None else {})
        return Found(*self._ask("query", words, _series))

    def range(self, expr: str, begin: float, end: float, step: float) -> Found:
        """From `begin` to `end`, both included, every `step` seconds."""
        points: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
        warnings: dict[str, None] = {}
        for first, last in pages(begin, end, step):
            words = {"query": expr, "start": repr(first), "end": repr(last), "step": repr(step)}
            series, warned = self._ask("query_range", words, _series)
            warnings |= dict.fromkeys(warned)
            for one in series:
                points.setdefault(tuple(sorted(one.labels.items())), []).extend(one.points)
        return Found(tuple(Series(dict(labels), tuple(found)) for labels, found in points.items()), tuple(warnings))

    def now(self) -> float:
        """The time of its clock, in seconds since 1970: samples have that, whatever this machine's clock says."""
        (found,) = self.instant("time()").series
        return found.points[-1][1]

    def help_texts(self, metric: str) -> tuple[str, ...]:
        """What exporters say of a metric; several where they differ, none where nobody scrapes it now."""
        path = f"metadata?{urlencode({'metric': metric})}"
        texts, _ = self._ask(path, None, lambda data: [str(one["help"]) for one in data.get(metric, ())])
        return tuple(dict.fromkeys(texts))

    def _ask(
        self, path: str, form: Mapping[str, str] | None, read: Callable[[Any], Data]
    ) -> tuple[Data, tuple[str, ...]]:
        """By POST, which takes queries of any length, unless there is no form."""
        url = f"{self.access.url.rstrip('/')}/api/v1/{path}"
        method, body = ("GET", "") if form is None else ("POST", urlencode(form))
        status, data = self.web.ask(url, method, body)
        return self._read(status, data, read)

    def _read(self, status: int, body: bytes, read: Callable[[Any], Data]) -> tuple[Data, tuple[str, ...]]:
        url, error = self.access.url, ""
        try:
            document = load_json(body)
            error = str(document.get("error", ""))
            if status == HTTPStatus.OK and document["status"] == "success":
                return read(document["data"]), tuple(map(str, document.get("warnings", ())))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # what came instead is in the error below
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise UnreachableError("prometheus-refused", f"{url} refused the login (HTTP {status}).", error)
        if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY) and error:
            raise UsageError("prometheus-query", f"{url} did not run the query.", error)
        if status in BUSY:
            message = f"{url} is too busy, or cannot reach its data (HTTP {status})."
            raise UnreachableError("prometheus-busy", message, error)
        message = f"{url} does not answer as Prometheus does (HTTP {status})."
        what = error or body[:120].decode(errors="replace")
        raise UnreachableError(
            "prometheus-answer", message, what, Command("curl", "-sS", f"{url}/api/v1/status/buildinfo")
        )


def pages(begin: float, end: float, step: float) -> Iterator[tuple[float, float]]:
    """First and last moment of each page."""
    steps = max(0, int((end - begin) / step + 1e-9))
    for at in range(0, steps + 1, PAGE):
        yield begin + at * step, begin + min(at + PAGE - 1, steps) * step


def _series(data: Any) -> tuple[Series, ...]:
    kind, result = data["resultType"], data["result"]
    if kind == "scalar":
        return (Series({}, (_point(result),)),)
    if kind == "vector":
        return tuple(Series(_labels(one), (_point(one["value"]),)) for one in result)
    return tuple(Series(_labels(one), tuple(map(_point, one["values"]))) for one in result)


def _labels(one: Any) -> dict[str, str]:
    """Raises TypeError for what are none."""
    if not all(isinstance(word, str) for pair in one["metric"].items() for word in pair):
        raise TypeError(one["metric"])
    # A newline in a label would begin a line of a report that nothing measured.
    return {name: flatten(value) for name, value in one["metric"].items()}


def _point(value: Any) -> tuple[float, float]:
    at, text = value
    return float(at), float(text)
