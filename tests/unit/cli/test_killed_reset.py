"""A reset whose gpustack was killed while pods were away: the next command ends it, and resets nothing."""

from datetime import timedelta

import pytest

from gpustack.remediation import acts
from tests.unit.cli.remediations import drain_node, expect_error, record_act, replace_sources
from tests.unit.cli.test_remediation_acts import install_programs, list_acts, take
from tests.unit.cli.unwell_gpus import UnwellGpus
from tests.worlds.programs.node_api import NodeApi


@pytest.fixture(autouse=True)
def gpus(monkeypatch: pytest.MonkeyPatch) -> UnwellGpus:
    monkeypatch.setattr(acts, "PAUSE", 0.01)
    return replace_sources(monkeypatch)


def leave_killed_reset(node_api: NodeApi, gpus: UnwellGpus) -> None:
    """Leave the node as a gpustack does that is killed while the pods are away: of the GPUs nothing is heard."""
    drain_node(node_api)
    record_act(node_api, "reset", timedelta(minutes=5), "begun")
    objects = node_api.read()
    (node,) = (node for node in objects["nodes"] if node["metadata"]["name"] == "gpu1")
    node["spec"]["taints"] = [{"key": "gpustack.io/reset", "effect": "NoExecute"}]
    node["taints"] = ["gpustack.io/reset=:NoExecute"]
    node_api.write(objects)
    gpus.lag = 900


def test_a_killed_reset_is_ended_and_not_repeated(node_api: NodeApi, gpus: UnwellGpus) -> None:
    log = install_programs(node_api)
    leave_killed_reset(node_api, gpus)
    document = take("gpu1")
    assert (document["outcome"], document["reason"]) == ("failed", acts.UNKNOWN_RESET)
    assert [call[-2:] for call in node_api.read()["calls"] if "taint" in call] == [["gpu1", "gpustack.io/reset-"]]
    assert (list_acts(node_api), node_api.read_node()["taints"]) == ([("reset", "failed")], [])
    assert not log.exists(), "nothing is done on the host"


def test_a_killed_reset_of_a_node_that_a_person_cordoned_is_left_alone(node_api: NodeApi, gpus: UnwellGpus) -> None:
    leave_killed_reset(node_api, gpus)
    node_api.set_cordon("kubectl")
    assert "person-cordon" in expect_error("gpu1", "--yes").reason
    assert not [call for call in node_api.read()["calls"] if "taint" in call]
