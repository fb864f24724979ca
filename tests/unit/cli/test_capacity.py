"""`gpustack capacity report` and `gpustack cost report` as typed."""

import json
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from gpustack.capacity.state import CurrentState
from gpustack.capacity.usage import Usage
from gpustack.cli.capacity.commands import app as capacity
from gpustack.cli.cost.commands import app as cost
from gpustack.cli.option_groups import Session
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.errors import ConfigError, UsageError
from tests.worlds.prometheus.usage import BEGIN
from tests.worlds.results import usage_reports


@pytest.fixture
def spec(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A function that sets the spec of the inventory; the Prometheus has the report's two days."""
    spec: dict[str, Any] = {"cost": usage_reports.COST.model_dump(by_alias=True)}

    @contextmanager
    def open_source(_: object, session: Session) -> Any:
        fake = SimpleNamespace(fetch_time=lambda: usage_reports.END + 60.0, access=SimpleNamespace(url="http://p"))
        session.context["inventory"] = hosts = Inventory(None, (), Spec.model_validate(spec))
        yield fake, hosts.spec

    def build_usage(*_: object, **__: object) -> Usage:
        return usage_reports.query_recorded_usage()

    def observe_state(*_: object) -> CurrentState:
        return usage_reports.make_capacity().current_state

    for command in ("capacity.report", "cost.commands"):
        monkeypatch.setattr(f"gpustack.cli.{command}.open_source", open_source)
    monkeypatch.setattr("gpustack.capacity.read.choose_source", lambda *words: words)
    monkeypatch.setattr("gpustack.capacity.read.query_usage", build_usage)
    monkeypatch.setattr("gpustack.capacity.read.query_current_state", observe_state)
    return spec


def test_capacity_is_printed_in_each_format(spec: dict[str, Any]) -> None:
    result = CliRunner().invoke(capacity, ["report", "--month", "2026-10", "-o", "json"], catch_exceptions=False)
    document = json.loads(result.stdout)
    assert (document["schema"], document["exit"]["code"], result.exit_code) == ("gpustack/capacity/v1", 0, 0)
    assert [row["names"] for row in document["rows"]] == [[""], ["team-a"], ["team-b"]]
    page = CliRunner().invoke(capacity, ["report", "--by", "day,team", "-o", "html"], catch_exceptions=False).stdout
    assert "<polyline" in page
    assert "StatefulSet/notebook" in page
    assert "<script" not in page


def test_cost_is_printed_in_each_format(spec: dict[str, Any]) -> None:
    result = CliRunner().invoke(cost, ["report", "--month", "2026-10", "-o", "json"], catch_exceptions=False)
    document = json.loads(result.stdout)
    assert (document["total"]["total_cost"], document["currency"]) == ("894.51", "EUR")
    assert [budget["exceeded"] for budget in document["budgets"]] == [False, True]
    assert result.exit_code == document["exit"]["code"] == 1
    page = CliRunner().invoke(cost, ["report", "-o", "html"], catch_exceptions=False).stdout
    assert "894.51 EUR" in page
    assert (">2026-10-01<" in page, ">2026-10-02<" in page, "24 h" in page) == (True, True, False)


def test_a_budget_of_the_command_counts_instead(spec: dict[str, Any]) -> None:
    words = ["report", "--since", "2d"]
    assert CliRunner().invoke(cost, words, catch_exceptions=False).exit_code == 0
    assert CliRunner().invoke(cost, [*words, "--budget", "team-a=100"], catch_exceptions=False).exit_code == 1
    assert CliRunner().invoke(cost, [*words, "--budget", "team-a=300"], catch_exceptions=False).exit_code == 0


@pytest.mark.parametrize("word", ["team-a", "=5", "team-a=much", "team-a=-1", "team-a=NaN"])
def test_a_malformed_budget_is_refused(spec: dict[str, Any], word: str) -> None:
    with pytest.raises(typer.BadParameter, match="NAMESPACE=AMOUNT"):
        CliRunner().invoke(cost, ["report", "--budget", word], catch_exceptions=False, standalone_mode=False)


def test_bad_input_is_named(spec: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as excinfo:
        CliRunner().invoke(capacity, ["report", "--month", "2026-11"], catch_exceptions=False)
    assert excinfo.value.reference == "capacity-window"
    with pytest.raises(typer.BadParameter, match="'user'; allowed: day, pool"):
        CliRunner().invoke(capacity, ["report", "--by", "user"], catch_exceptions=False, standalone_mode=False)
    del spec["cost"]
    with pytest.raises(ConfigError) as wrong:
        CliRunner().invoke(cost, ["report"], catch_exceptions=False)
    assert wrong.value.reference == "cost-no-prices"


def test_less_than_95_percent_is_unknown(spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    half = vars(usage_reports.query_recorded_usage()) | {"recorded_hours": 24.0}
    monkeypatch.setattr("gpustack.capacity.read.query_usage", lambda *_, **__: Usage(**half))
    result = CliRunner().invoke(capacity, ["report", "-o", "csv"], catch_exceptions=False)
    assert result.exit_code == 8
    assert result.stdout.startswith("namespace,total_gpu_hours,")
    assert half["begin"] == BEGIN
