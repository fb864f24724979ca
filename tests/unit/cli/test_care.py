"""`gpustack care` cordons nodes that ask for an act where the spec allows it, and does nothing else."""

import json
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from gpustack.ask.probe import CLUSTER
from gpustack.cli import session
from gpustack.cli.app import app
from gpustack.config.sections.care import Care
from gpustack.probes.kubernetes.device_health import DEVICE_HEALTH
from tests.unit.cli.remediations import GPU, replace_sources
from tests.unit.cli.unwell_gpus import UnwellGpus
from tests.worlds.programs.node_api import NodeApi
from tests.worlds.snapshots.answers import make_list


@pytest.fixture(autouse=True)
def gpus(node_api: NodeApi, monkeypatch: pytest.MonkeyPatch) -> UnwellGpus:
    monkeypatch.setattr(session, "gather_all", lambda *_, **__: node_api.gather())
    return replace_sources(monkeypatch)


@pytest.fixture
def cordoning(node_api: NodeApi, monkeypatch: pytest.MonkeyPatch) -> NodeApi:
    """Nodes of an inventory with care.cordon: true."""

    def open_inventory(*_: Any, **__: Any) -> Any:
        inventory = node_api.gather().inventory
        return replace(inventory, spec=inventory.spec.model_copy(update={"care": Care(cordon=True)}))

    monkeypatch.setattr(session, "open_inventory", open_inventory)
    return node_api


def run(*words: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, ["care", *words, "-o", "json", "-q"])
    assert result.stdout, result.exception
    return result.exit_code, json.loads(result.stdout)


def list_outcomes(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(row["node"], row["health"], row["outcome"]) for row in document["nodes"]]


def is_cordoned(api: NodeApi) -> bool:
    return bool(api.read_node()["spec"].get("unschedulable"))


def test_a_node_that_asks_for_a_reset_is_cordoned(cordoning: NodeApi) -> None:
    code, document = run()
    assert (code, list_outcomes(document), is_cordoned(cordoning)) == (1, [("gpu1", "reset", "done")], True)
    acts = json.loads(cordoning.read_node()["metadata"]["annotations"]["gpustack.io/remediation"])["acts"]
    assert [(act["rung"], act["end"]) for act in acts] == [("cordon", "done")]


def test_a_cordoned_node_is_named_with_its_next_rung_and_left_alone(cordoning: NodeApi) -> None:
    run()
    before, pods = cordoning.read_node(), cordoning.list_pod_names()
    code, document = run()
    assert (code, list_outcomes(document)) == (1, [("gpu1", "reset", "none")])
    assert (document["nodes"][0]["rung"], cordoning.read_node()) == ("drain", before)
    assert cordoning.list_pod_names() == pods


@pytest.mark.parametrize("words", [(), ("--yes",)])
def test_without_the_setting_nothing_is_changed(node_api: NodeApi, words: tuple[str, ...]) -> None:
    code, document = run(*words)
    assert (code, document["only_checked"], is_cordoned(node_api)) == (1, True, False)
    assert document["nodes"][0]["rung"] == "cordon"


def test_check_changes_nothing(cordoning: NodeApi) -> None:
    code, document = run("--check")
    assert (code, document["only_checked"], is_cordoned(cordoning)) == (1, True, False)


def test_a_guard_rail_refuses_and_is_named(cordoning: NodeApi, gpus: UnwellGpus) -> None:
    gpus.lag = 900
    code, document = run()
    assert (code, is_cordoned(cordoning)) == (1, False)
    assert document["nodes"][0]["reason"].startswith("fresh-data: ")


def test_clocks_apart_leave_every_verdict_unknown(cordoning: NodeApi, gpus: UnwellGpus) -> None:
    """Values that name no fault may be of another time as well as those that name one."""
    gpus.values, gpus.lag = {}, 900
    code, document = run()
    assert (code, document["nodes"]) == (8, [])
    assert document["warnings"][0] == (
        "No verdict is certain: the clocks of Prometheus and of this machine are 15 min apart."
    )


def test_one_source_alone_asks_for_nothing(cordoning: NodeApi, gpus: UnwellGpus) -> None:
    gpus.values = {"XID_ERRORS": 48.0}
    assert run()[0] == 0
    assert not is_cordoned(cordoning)


def test_a_source_that_only_the_api_has_is_the_second_one(cordoning: NodeApi, gpus: UnwellGpus) -> None:
    """The kubelet names the GPU of a pod, as `gpustack gpu health` of the same inventory says."""
    gpus.values = {"GET_GPU_RECOVERY_ACTION": 1.0}
    status = {"name": "nvidia.com/gpu", "resources": [{"resourceID": GPU, "health": "Unhealthy"}]}
    container = {"state": {"running": {}}, "allocatedResourcesStatus": [status]}
    pod = {"spec": {"nodeName": "gpu1"}, "status": {"containerStatuses": [container]}}
    cordoning.further_answers = [replace(make_list(DEVICE_HEALTH.id, [pod]), location=CLUSTER)]
    code, document = run()
    assert (code, list_outcomes(document), is_cordoned(cordoning)) == (1, [("gpu1", "reset", "done")], True)


def test_a_node_that_cannot_be_read_does_not_hide_the_others(
    cordoning: NodeApi, gpus: UnwellGpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node of Prometheus may be none of the cluster any more."""
    gpus.wave = ("gone",)
    code, document = run()
    assert code == 5
    assert [(row["node"], row["health"], row["outcome"]) for row in document["nodes"]] == [
        ("gone", None, "failed"),
        ("gpu1", "reset", "done"),
    ]


def test_people_see_each_node_and_what_comes_next(cordoning: NodeApi) -> None:
    output = CliRunner().invoke(app, ["care", "-q"]).stdout
    assert "gpu1" in output
    assert "1 node cordoned" in output
    assert "gpustack remediate gpu1 --check" in output


def test_a_healthy_cluster_is_left_alone(cordoning: NodeApi, gpus: UnwellGpus) -> None:
    gpus.values = {}
    code, document = run()
    assert (code, document["nodes"], document["unknown_nodes"]) == (0, [], [])
