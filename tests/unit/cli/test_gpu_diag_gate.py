"""`gpustack gpu diag` records in the gate of a node that its diagnostic has passed since the GPUs were reset."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpustack.ask.probe import CLUSTER
from gpustack.cli.app import app
from gpustack.cli.gpu import diag
from gpustack.engines.call import Reply
from gpustack.engines.engine import Engine, Engines
from tests.worlds.programs.engines import build_result, build_software_test, render_diagnostic
from tests.worlds.programs.node_api import HOSTS, NodeApi
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.build import TAKEN_AT

GATE = {"key": "gpustack.io/unproven", "value": "reset", "effect": "NoSchedule", "timeAdded": "2026-11-30T00:00:00Z"}


@pytest.fixture
def reset_node(node_api: NodeApi, monkeypatch: pytest.MonkeyPatch) -> NodeApi:
    """A node whose GPUs were reset, and the engine that is asked about them."""
    objects = node_api.read()
    (node,) = (node for node in objects["nodes"] if node["metadata"]["name"] == "gpu1")
    node["spec"] = {"taints": [GATE]}
    node_api.write(objects)
    snapshot = node_api.gather()
    answers = place_answers(CLUSTER, read_case("proof.nodes", "reset-behind-the-gate"))
    snapshot = replace(snapshot, answers={**snapshot.answers, **answers})
    engines = Engines((Engine("gpu1", HOSTS[0], "dcgm "),), {}, HOSTS[0], {}, TAKEN_AT)
    monkeypatch.setattr(diag, "open_engines", lambda *_, **__: (snapshot, engines))
    return node_api


def run(monkeypatch: pytest.MonkeyPatch, *statuses: str, stop_reason: str = "") -> Result:
    results = [build_result(number, status) for number, status in enumerate(statuses)]
    tests = build_software_test(*results, status="Fail" if "Fail" in statuses else statuses[0])
    replies = [Reply("gpu1", "dcgmi diag", stdout=render_diagnostic(tests))]
    change = SimpleNamespace(endings=(), seconds=1.0, stop_reason=stop_reason)

    def answer(*_: object, **__: object) -> tuple[Any, Sequence[Reply]]:
        return change, replies

    monkeypatch.setattr(diag, "run_work", answer)
    return CliRunner().invoke(app, ["gpu", "diag", "--yes", "-q"])


def read_taints(node_api: NodeApi) -> Any:
    return node_api.read_node()["spec"]["taints"]


def test_a_passed_diagnostic_lets_a_proof_open_the_gate(reset_node: NodeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(monkeypatch, "Pass", "Pass")
    assert result.exit_code == 0, result.exception
    assert read_taints(reset_node) == [GATE | {"value": "diagnosed"}]


@pytest.mark.parametrize("statuses", [("Pass", "Fail"), ("Skip", "Skip")])
def test_another_diagnostic_leaves_the_gate(
    reset_node: NodeApi, monkeypatch: pytest.MonkeyPatch, statuses: tuple[str, ...]
) -> None:
    assert run(monkeypatch, *statuses).exit_code in (1, 8)
    assert read_taints(reset_node) == [GATE]


def test_an_interrupted_diagnostic_leaves_the_gate(reset_node: NodeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, "Pass", "Pass", stop_reason="interrupted")
    assert read_taints(reset_node) == [GATE]
