"""Every expression of every panel, asked of a real Prometheus: what has data for which model.

`GOLDEN=write` writes tests/golden/panels.txt anew; the difference is then to be read in git.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.exporters import EXPORTERS, Exporter
from tests.contract.prometheus_server import Prometheus, prometheus
from tests.contract.promql import ROOT
from tests.contract.test_dashboards import FILES, chosen, expressions, read

TABLE = ROOT / "tests" / "golden" / "panels.txt"
SETTLED = 90
"""Seconds until all that is recorded of what is scraped has been there twice."""


def rows() -> Iterator[tuple[str, str, list[str]]]:
    """Dashboard, panel, expressions."""
    for file in FILES:
        board = read(file)
        for panel in board["panels"]:
            if asked := expressions({"panels": [panel]}):
                yield file.stem, panel["title"], asked


def at(expr: str, one: Exporter) -> str:
    """As Grafana asks where a reader has chosen this GPU, and the pod that has it."""
    words = {"$node": one.node, "$UUID": f"GPU-{one.node}", "$pod": one.pod, "$namespace": "n"}
    expr = chosen(expr)
    for word, value in words.items():
        expr = expr.replace(word, value)
    return expr


def said(server: Prometheus, asked: list[str], one: Exporter) -> str:
    there = [bool(server.answer(at(expr, one))) for expr in asked]
    return "yes" if all(there) else f"{sum(there)} of {len(there)}" if any(there) else "-"


def table(server: Prometheus) -> str:
    line = "{:<14}{:<40}" + "{:<8}" * len(EXPORTERS)
    found = [line.format("dashboard", "panel", *(one.key for one in EXPORTERS))]
    found += [
        line.format(board, panel, *(said(server, asked, one) for one in EXPORTERS)) for board, panel, asked in rows()
    ]
    return "".join(f"{text.rstrip()}\n" for text in found)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_has_data_for_which_model(tmp_path: Path) -> None:
    """Compared until it is as written, as rates need two scrapes and a busy machine misses some."""
    writing = os.environ.get("GOLDEN") == "write"
    with prometheus(tmp_path) as server:
        deadline = time.monotonic() + SETTLED
        found = table(server)
        while found != (TABLE.read_text() if TABLE.exists() else "") and time.monotonic() < deadline:
            time.sleep(2)
            found = table(server)
    if writing:
        TABLE.write_text(found)
    assert found == TABLE.read_text()
