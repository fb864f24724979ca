"""Every expression of every panel, asked of a real Prometheus: what has data for which model.

`GOLDEN=write` writes tests/contract/panels.txt anew; the difference is then to be read in git.
"""

import os
import time
from collections.abc import Iterator

import pytest

from tests.contract.exporters import EXPORTERS, Exporter
from tests.contract.prometheus_server import SPAN, Prometheus, prometheus
from tests.contract.promql import ROOT
from tests.contract.test_dashboards import FILES, MACROS, chosen, read

TABLE = ROOT / "tests" / "contract" / "panels.txt"
RECORDED = ("gpustack:gpu_energy:joules_total", "gpustack:node_gpu_expected:bool")
EVALUATED = " and on () ".join(f"min(count_over_time({name}[1h])) >= 4" for name in RECORDED)
"""Is there once all rules were evaluated often enough for a rate of what is recorded, and what is recorded of it."""


def panels() -> Iterator[tuple[str, str, list[str]]]:
    """Dashboard, panel, expressions."""
    for file in FILES:
        for panel in read(file)["panels"]:
            if asked := [target["expr"] for target in panel.get("targets", [])]:
                yield file.stem, panel["title"], asked


def at(expr: str, one: Exporter) -> str:
    """As Grafana asks where a reader has chosen this GPU, and the pod that has it."""
    words = {"$node": one.node, "$UUID": f"GPU-{one.node}", "$pod": one.pod, "$namespace": "n"}
    expr = chosen(expr)
    for word, value in (dict.fromkeys(MACROS, SPAN) | words).items():
        expr = expr.replace(word, value)
    return expr


def answered(server: Prometheus, asked: list[str]) -> list[str]:
    """Of a panel, by model; all of it is one query, that has a series for each expression with data."""
    parts = [
        f'label_replace(label_replace(count({at(expr, exporter)}), "model", "{exporter.key}", "", ""), '
        f'"part", "{part}", "", "")'
        for exporter in EXPORTERS
        for part, expr in enumerate(asked)
    ]
    found = [series["metric"]["model"] for series in server.answer(" or ".join(parts))]
    counts = [found.count(one.key) for one in EXPORTERS]
    return ["yes" if count == len(asked) else f"{count} of {len(asked)}" if count else "-" for count in counts]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with prometheus(tmp_path_factory.mktemp("prometheus")) as running:
        deadline = time.monotonic() + 300
        while not running.answer(EVALUATED) and time.monotonic() < deadline:
            time.sleep(0.5)
        yield running


@pytest.mark.timeout(900)
def test_what_has_data_for_which_model(server: Prometheus) -> None:
    line = "{:<14}{:<40}" + "{:<8}" * len(EXPORTERS)
    rows = [line.format("dashboard", "panel", *(exporter.key for exporter in EXPORTERS))]
    rows += [line.format(board, title, *answered(server, asked)) for board, title, asked in panels()]
    found = "".join(f"{row.rstrip()}\n" for row in rows)
    if os.environ.get("GOLDEN") == "write":
        TABLE.write_text(found)
    assert found == TABLE.read_text()


def test_what_cannot_be_asked_is_named(server: Prometheus) -> None:
    with pytest.raises(AssertionError, match="parse error"):
        server.answer("sum by (node (gpustack:gpu:info)")
