"""`gpustack capacity forecast` as typed."""

import json

import pytest
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.forecast.demand import HOURS_A_DAY, Demand

COMMAND = ("capacity", "forecast", "--prometheus", "http://prometheus.example.org")


def build_demand(days: int, capacity: float = 60.0) -> Demand:
    hours = [20.0 + hour // HOURS_A_DAY for hour in range(days * HOURS_A_DAY)]
    return Demand("nvidia_com_gpu", 0, hours, [0.0] * len(hours), [capacity] * len(hours))


@pytest.fixture
def forecast_call(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The arguments of the forecast; the test may set the `days` of history."""
    fields: dict[str, object] = {"days": 35}

    def read(_: object, seconds: float, nodes: str, resource: str) -> tuple[Demand, ...]:
        fields.update(seconds=seconds, nodes=nodes, resource=resource)
        return (build_demand(int(str(fields["days"]))),)

    monkeypatch.setattr("gpustack.forecast.read.query_demands", read)
    return fields


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*COMMAND, *words], env={"COLUMNS": "120"}, catch_exceptions=False)
    return result.exit_code, result.output


def test_an_order_is_an_exit_status(forecast_call: dict[str, object]) -> None:
    """Demand grows by one GPU each day, 54 on the last: of 60 GPUs 44 are missing after 50 days, and none after 3."""
    code, output = run("--lead-time", "50d", "-o", "json")
    document = json.loads(output)
    assert (code, document["exit"]["code"], document["pools"][0]["outlook"]["missing_gpu_count"]) == (1, 1, 44)
    assert run("--lead-time", "3d")[0] == 0


def test_no_forecast_is_an_exit_status(forecast_call: dict[str, object]) -> None:
    forecast_call["days"] = 20
    code, output = run()
    assert code == 8
    assert "no forecast" in output
    assert "20 days of history; it takes 28" in output


def test_what_is_read_is_what_was_asked_for(forecast_call: dict[str, object]) -> None:
    run("--history", "45d", "--nodes", "h100-.+", "--resource", "nvidia_com_gpu")
    assert forecast_call == {"days": 35, "seconds": 45 * 86400, "nodes": "h100-.+", "resource": "nvidia_com_gpu"}


def test_a_lead_time_is_whole_days(forecast_call: dict[str, object]) -> None:
    assert run("--lead-time", "90m")[0] == 2


def test_a_page_has_a_plot_and_nothing_from_elsewhere(forecast_call: dict[str, object]) -> None:
    _, page = run("-o", "html")
    assert page.count("<polyline") == 5
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page
