"""`gpustack remediate` leaves a node whose GPUs it reset behind the gate."""

import pytest

from gpustack.remediation import acts
from tests.unit.cli.remediations import drain_node, replace_sources
from tests.unit.cli.test_remediation_acts import IN_USE, install_programs, take
from tests.worlds.programs.node_api import NodeApi


@pytest.fixture(autouse=True)
def quick_acts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acts, "PAUSE", 0.01)
    monkeypatch.setattr(acts, "ROUNDS", 0)
    replace_sources(monkeypatch)


def test_a_reset_closes_the_gate_until_the_diagnostic_and_the_proof(node_api: NodeApi) -> None:
    node_api.spec = {"gpu": {"gate": True}}
    drain_node(node_api)
    install_programs(node_api)
    assert take()["outcome"] == "done"
    (taint,) = node_api.read_node()["spec"]["taints"]
    assert (taint["key"], taint["value"]) == ("gpustack.io/unproven", "reset")


def test_a_reset_that_fails_leaves_the_gate_closed(node_api: NodeApi) -> None:
    """Nobody knows in which state the GPUs are."""
    node_api.spec = {"gpu": {"gate": True}}
    drain_node(node_api)
    install_programs(node_api, reset=IN_USE)
    assert take()["outcome"] == "failed"
    assert [taint["value"] for taint in node_api.read_node()["spec"]["taints"]] == ["reset"]


def test_without_the_setting_a_reset_closes_no_gate(node_api: NodeApi) -> None:
    drain_node(node_api)
    install_programs(node_api)
    take()
    assert "taints" not in node_api.read_node()["spec"]
