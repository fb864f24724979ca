"""Queries of a Prometheus, Thanos or Mimir: series at one moment or over a range of time.

The HTTP API: https://prometheus.io/docs/prometheus/latest/querying/api/
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from math import isfinite, nan
from typing import Any, TypeVar
from urllib.parse import urlencode

from gpustack.ask.redact.printable import flatten
from gpustack.command import Command
from gpustack.errors import MissingDataError, UnreachableError, UsageError
from gpustack.files.json_text import load_json
from gpustack.files.number import LARGEST, parse_number
from gpustack.metrics.web import BUSY, Access, Web

# A range has at most 11,000 points (web/api/v1/api.go of Prometheus): a longer one is asked for in pages.
PAGE = 10_000
COMPLETE = {"partial_response": "false"}
"""Thanos leaves out what a store does not answer, and says so in a warning at most. Others ignore this parameter."""
LAST_TIME = 253402300799.0
"""The end of the year 9999, behind which Python has no times."""
NOTICE = "PromQL info:"
"""The beginning of a notice about a name in a query, such as that of a counter without _total. Prometheus 2.48 to 2.53
and Thanos have it among the warnings, and later versions in a field `infos`. Nothing is missing then."""
STORES = "proxy Series()"
"""The words of Thanos before the error of a store, in its refusal of a query that it cannot answer in whole
(pkg/query/querier.go)."""
MOST_COUNTED = 10**9
Data = TypeVar("Data")


@dataclass(frozen=True)
class Series:
    """Hold the labels and the points of a series; `points` are (seconds since 1970, value) in the order of time. A
    value is NaN where Prometheus has NaN, an infinity, or a number that no quantity can have."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]

    def find_newest_value(self) -> float | None:
        """Find the newest value. NaN is no value: an older one is no longer true."""
        value = self.points[-1][1]
        return value if isfinite(value) else None

    def find_newest_count(self) -> int | None:
        """Find the newest value of a series that counts something."""
        value = self.find_newest_value()
        return round(value) if value is not None and 0 <= value <= MOST_COUNTED else None


class Prometheus:
    """Query a server. Raise UsageError for an invalid address and for a query that is none, UnreachableError for a
    server that does not answer, or not as Prometheus does, and MissingDataError for a query that failed, and for an
    answer of which a part is missing: a sum over it would be too low, and nothing in it says so."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.web = Web(access)
        self.has_stores = False

    def query_instant(self, expr: str, time: float | None = None) -> tuple[Series, ...]:
        """Query one moment, now by default: one point in each series. A range vector (`up[2m]`) has its samples as they
        are."""
        words = {"query": expr} | ({"time": repr(time)} if time is not None else {})
        return self._ask("query", COMPLETE | words, _parse_series)

    def query_range(self, expr: str, begin: float, end: float, step: float) -> tuple[Series, ...]:
        """Query every `step` seconds from `begin` to `end`, both included."""
        points: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
        for first, last in split_pages(begin, end, step):
            words = {"query": expr, "start": repr(first), "end": repr(last), "step": repr(step)}
            for page_series in self._ask("query_range", COMPLETE | words, _parse_series):
                points.setdefault(tuple(sorted(page_series.labels.items())), []).extend(page_series.points)
        return tuple(Series(dict(labels), tuple(series_points)) for labels, series_points in points.items())

    def fetch_time(self) -> float:
        """Fetch the time of the server's clock, in seconds since 1970, before anything else is read. Samples have that
        time, whatever the local clock says. Raise MissingDataError where the server knows of a store that does not
        answer."""
        self._refuse_partial(self._fetch_store_errors())
        times = [series.find_newest_value() for series in self.query_instant("time()")]
        if len(times) != 1 or times[0] is None or not 0 <= times[0] <= LAST_TIME:
            message = f"{self.access.url} does not say what time it is."
            raise UnreachableError("prometheus-answer", message, f"It answered {times} to time().", self._suggest())
        return times[0]

    def require_stores(self) -> None:
        """Raise MissingDataError where a store of a Thanos was lost since `fetch_time`: some of the answers in between
        lack it."""
        if self.has_stores:
            self._refuse_partial(self._fetch_store_errors())

    def fetch_help_texts(self, metric: str) -> tuple[str, ...]:
        """Fetch the help texts that exporters give a metric; several where they differ, none where nobody scrapes it
        now."""
        path = f"metadata?{urlencode({'metric': metric})}"
        texts = self._ask(path, None, lambda data: [str(entry["help"]) for entry in data.get(metric, ())])
        return tuple(dict.fromkeys(texts))

    def fetch_targets(self) -> Sequence[Any]:
        """Fetch the active targets, as Prometheus describes them."""
        return self._ask("targets?state=active", None, lambda data: list(data["activeTargets"]))

    def _fetch_store_errors(self) -> list[str]:
        """Fetch the errors of the stores of a Thanos. It asks no store that is not healthy, and then warns of nothing.
        Other servers have no such list."""
        status, body = self.web.ask(f"{self.access.url.rstrip('/')}/api/v1/stores")
        if status != HTTPStatus.OK:
            return []
        try:
            stores = [store for group in load_json(body)["data"].values() for store in group]
            self.has_stores = bool(stores)
            return [f"{store['name']}: {store['lastError']}" for store in stores if store.get("lastError")]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return []  # a server of another kind

    def _ask(self, path: str, form: Mapping[str, str] | None, read: Callable[[Any], Data]) -> Data:
        """Send a query by POST, which takes queries of any length, or by GET where there is no form."""
        url = f"{self.access.url.rstrip('/')}/api/v1/{path}"
        method, body = ("GET", "") if form is None else ("POST", urlencode(form))
        status, data = self.web.ask(url, method, body)
        return self._read(status, data, read)

    def _read(self, status: int, body: bytes, read: Callable[[Any], Data]) -> Data:
        url, error = self.access.url, ""
        try:
            document = load_json(body)
            error = flatten(str(document.get("error", "")))
            if status == HTTPStatus.OK and document["status"] == "success":
                self._refuse_partial(document.get("warnings") or ())
                return read(document["data"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # what came instead is in the error below
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise UnreachableError("prometheus-refused", f"{url} refused the login (HTTP {status}).", error)
        if status == HTTPStatus.UNPROCESSABLE_ENTITY and error:
            if STORES in error:
                self._refuse_partial([error])
            raise MissingDataError("prometheus-query", f"{url} could not answer the query.", error)
        if status == HTTPStatus.BAD_REQUEST and error:
            raise UsageError("prometheus-query", f"{url} did not run the query.", error)
        if status in BUSY:
            message = f"{url} is too busy, or cannot reach its data (HTTP {status})."
            raise UnreachableError("prometheus-busy", message, error, Command("curl", "-sS", f"{url}/-/ready"))
        message = f"{url} does not answer as Prometheus does (HTTP {status})."
        reason = error or body[:120].decode(errors="replace")
        raise UnreachableError("prometheus-answer", message, reason, self._suggest())

    def _refuse_partial(self, warnings: Sequence[object]) -> None:
        """Raise MissingDataError for the warnings of an answer, in the words of the server."""
        texts = dict.fromkeys(flatten(str(warning)) for warning in warnings)
        if reasons := [text for text in texts if not text.startswith(NOTICE)]:
            message = f"{self.access.url} answered only in part."
            hint = Command("curl", "-sS", f"{self.access.url}/api/v1/stores")
            raise MissingDataError("prometheus-partial", message, "; ".join(reasons), hint)

    def _suggest(self) -> Command:
        return Command("curl", "-sS", f"{self.access.url}/api/v1/status/buildinfo")


def require_label(labels: Mapping[str, str], name: str) -> str:
    """Return the value of a label by which the query groups. Raise UnreachableError where there is none."""
    if name not in labels:
        message = f"Prometheus answered with a series that lacks the label {name}."
        raise UnreachableError("prometheus-answer", message, f"Its labels are {dict(labels)}.")
    return labels[name]


def split_pages(begin: float, end: float, step: float) -> Iterator[tuple[float, float]]:
    """Yield the first and the last moment of each page."""
    steps = max(0, int((end - begin) / step + 1e-9))
    for first_step in range(0, steps + 1, PAGE):
        yield begin + first_step * step, begin + min(first_step + PAGE - 1, steps) * step


def _parse_series(data: Any) -> tuple[Series, ...]:
    kind, result = data["resultType"], data["result"]
    if kind == "scalar":
        return (Series({}, (_parse_point(result),)),)
    if kind == "vector":
        return tuple(Series(_parse_labels(entry), (_parse_point(entry["value"]),)) for entry in result)
    return tuple(
        Series(_parse_labels(track), tuple(map(_parse_point, track["values"]))) for track in result if track["values"]
    )


def _parse_labels(entry: Any) -> dict[str, str]:
    """Parse the labels of a series. Raise TypeError where one is no text."""
    if not all(isinstance(word, str) for pair in entry["metric"].items() for word in pair):
        raise TypeError(entry["metric"])
    # A newline in a label would begin a line of a report that nothing measured.
    return {name: flatten(value) for name, value in entry["metric"].items()}


def _parse_point(sample: Any) -> tuple[float, float]:
    time, text = sample
    value = float(text)
    return parse_number(time, 0, LAST_TIME), value if abs(value) <= LARGEST else nan
