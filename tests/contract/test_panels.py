"""A real Prometheus is asked every expression of every panel, to see what has data for which model. `GOLDEN=write`
writes tests/contract/panels.txt anew; the difference is then to be read in git."""

import os
import time
from collections.abc import Iterator

import pytest

from tests.contract.exporters import EXPORTERS, Exporter
from tests.contract.prometheus_server import SPAN, Prometheus, run_prometheus
from tests.contract.promql import ROOT
from tests.contract.test_dashboards import FILES, MACROS, choose_metrics, read

TABLE = ROOT / "tests" / "contract" / "panels.txt"
RECORDED_SERIES = ("gpustack:gpu_energy:joules_total", "gpustack:node_gpu_expected:bool")
EVALUATED_RULES = " and on () ".join(f"min(count_over_time({name}[1h])) >= 4" for name in RECORDED_SERIES)
"""Is there once all rules were evaluated often enough for a rate of what is recorded, and what is recorded of it."""


def list_panels() -> Iterator[tuple[str, str, list[str]]]:
    """List dashboard, panel and expressions."""
    for file in FILES:
        for panel in read(file)["panels"]:
            if expressions := [target["expr"] for target in panel.get("targets", [])]:
                yield file.stem, panel["title"], expressions


def fill_variables(expr: str, exporter: Exporter) -> str:
    """Fill in variables as Grafana does where a reader has chosen this GPU, and the pod that has it."""
    words = {"$node": exporter.node, "$UUID": f"GPU-{exporter.node}", "$pod": exporter.pod, "$namespace": "n"}
    expr = choose_metrics(expr)
    for word, value in (dict.fromkeys(MACROS, SPAN) | words).items():
        expr = expr.replace(word, value)
    return expr


def query_panel(server: Prometheus, expressions: list[str]) -> list[str]:
    """Query a panel by model in one query, which has a series for each expression with data."""
    parts = [
        f'label_replace(label_replace(count({fill_variables(expr, exporter)}), "model", "{exporter.key}", "", ""), '
        f'"part", "{part}", "", "")'
        for exporter in EXPORTERS
        for part, expr in enumerate(expressions)
    ]
    models = [series["metric"]["model"] for series in server.answer(" or ".join(parts))]
    counts = [models.count(exporter.key) for exporter in EXPORTERS]
    return [
        "yes" if count == len(expressions) else f"{count} of {len(expressions)}" if count else "-" for count in counts
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with run_prometheus(tmp_path_factory.mktemp("prometheus")) as running:
        deadline = time.monotonic() + 300
        while not running.answer(EVALUATED_RULES) and time.monotonic() < deadline:
            time.sleep(0.5)
        yield running


@pytest.mark.timeout(900)
def test_panels_have_data_for_the_models_of_the_table(server: Prometheus) -> None:
    line = "{:<14}{:<40}" + "{:<8}" * len(EXPORTERS)
    rows = [line.format("dashboard", "panel", *(exporter.key for exporter in EXPORTERS))]
    rows += [
        line.format(board, title, *query_panel(server, expressions)) for board, title, expressions in list_panels()
    ]
    page = "".join(f"{row.rstrip()}\n" for row in rows)
    if os.environ.get("GOLDEN") == "write":
        TABLE.write_text(page)
    assert page == TABLE.read_text()


def test_panels_that_cannot_be_queried_are_named(server: Prometheus) -> None:
    with pytest.raises(AssertionError, match="parse error"):
        server.answer("sum by (node (gpustack:gpu:info)")
