"""Metrics of an exporter, which it prints in Prometheus' text format.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from gpustack.command import Command
from gpustack.errors import UnreachableError
from gpustack.metrics.prometheus import Series
from gpustack.metrics.web import Web


@dataclass(frozen=True)
class Family:
    """Hold a metric with its series. `kind` is the type (TYPE) and `help` the help text (HELP) that the exporter gives
    it."""

    name: str
    kind: str
    help: str
    series: tuple[Series, ...]


def fetch_families(web: Web) -> tuple[Family, ...]:
    """Fetch all metrics of an exporter. The format gives values no time, so it is 0. Raise UnreachableError where the
    answer is no exposition."""
    url = web.access.url
    status, content = web.ask(url)
    hint = Command("curl", "-sS", url)
    if status != HTTPStatus.OK:
        raise UnreachableError("exporter-answer", f"{url} answers with HTTP {status}.", cut_excerpt(content), hint)
    try:
        return parse_families(content.decode())
    except ValueError as error:  # of a line, or of the encoding
        raise UnreachableError("exporter-answer", f"{url} does not print metrics.", str(error)[:200], hint) from None


def cut_excerpt(content: bytes) -> str:
    return content[:120].decode(errors="replace")


def parse_families(text: str) -> tuple[Family, ...]:
    """Parse an exposition. Raise ValueError for a line that is not of the format."""
    return tuple(
        Family(family.name, family.type, family.documentation, tuple(build_series(family)))
        for family in text_string_to_metric_families(text)
    )


def build_series(family: Metric) -> Iterator[Series]:
    """Build the series of a metric. The parser gives every counter the ending of OpenMetrics, which DCGM's do not
    have."""
    for sample in family.samples:
        name = family.name if family.type == "counter" else sample.name
        yield Series({"__name__": name, **sample.labels}, ((0.0, float(sample.value)),))
