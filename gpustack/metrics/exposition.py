"""What an exporter itself prints, in Prometheus' text format.

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
    """A metric with its series. `kind` is what the exporter calls it (TYPE), `help` what it says of it."""

    name: str
    kind: str
    help: str
    series: tuple[Series, ...]


def fetch_families(web: Web) -> tuple[Family, ...]:
    """The format gives values no time: it is 0. Raises UnreachableError where what comes is no exposition."""
    url = web.access.url
    status, content = web.ask(url)
    hint = Command("curl", "-sS", url)
    if status != HTTPStatus.OK:
        raise UnreachableError("exporter-answer", f"{url} answers with HTTP {status}.", excerpt(content), hint)
    try:
        return parse_families(content.decode())
    except ValueError as error:  # of a line, or of the encoding
        raise UnreachableError("exporter-answer", f"{url} does not print metrics.", str(error)[:200], hint) from None


def excerpt(content: bytes) -> str:
    return content[:120].decode(errors="replace")


def parse_families(text: str) -> tuple[Family, ...]:
    """Raises ValueError for a line that is not of the format."""
    return tuple(
        Family(family.name, family.type, family.documentation, tuple(series_of(family)))
        for family in text_string_to_metric_families(text)
    )


def series_of(family: Metric) -> Iterator[Series]:
    """The parser gives every counter the ending of OpenMetrics, which DCGM's do not have."""
    for one in family.samples:
        name = family.name if family.type == "counter" else one.name
        yield Series({"__name__": name, **one.labels}, ((0.0, float(one.value)),))
