"""Jobs end, and the cordon changes, while `gpustack remediate` waits for the jobs of a node. All cases are constructed
from the recorded objects of tests/worlds/programs/node_api.py."""

from typing import Any

import pytest

from gpustack.nodes import drain_plan
from gpustack.remediation import acts
from tests.unit.cli.remediations import replace_sources
from tests.unit.cli.test_remediation_acts import take
from tests.unit.cli.test_remediation_bypasses import change_node
from tests.unit.cli.unwell_gpus import UnwellGpus
from tests.worlds.programs.node_api import NodeApi


@pytest.fixture(autouse=True)
def gpus(monkeypatch: pytest.MonkeyPatch) -> UnwellGpus:
    monkeypatch.setattr(acts, "PAUSE", 0.01)
    monkeypatch.setattr(acts, "ROUNDS", 0)
    return replace_sources(monkeypatch)


@pytest.mark.parametrize("manager", ["", "kubectl-cordon"])
def test_a_drain_ends_where_the_cordon_changed_while_jobs_ended(
    node_api: NodeApi, monkeypatch: pytest.MonkeyPatch, manager: str
) -> None:
    node_api.keep_pods("train", "web", "exporter")
    node_api.set_allowance(2)
    take()
    gather, rounds = node_api.gather, list[int]()

    def end_job(*words: Any, **options: Any) -> Any:
        rounds.append(1)
        if len(rounds) == 4:
            node_api.keep_pods("web", "exporter")
            if manager:
                objects = node_api.read()
                for node in objects["nodes"]:
                    for entry in node["metadata"].get("managedFields", ()):
                        entry["manager"] = manager
                node_api.write(objects)
            else:
                change_node(node_api, "gpu1", spec={"unschedulable": False})
        return gather(*words, **options)

    monkeypatch.setattr(drain_plan, "gather", end_job)
    assert take()["reason"] == f"the cordon is {'others' if manager else 'none'} now, and was gpustack"
    assert len([name for name in node_api.list_pod_names() if "web" in name]) == 2


def test_a_job_that_ended_while_it_was_waited_for_keeps_its_pod_and_its_log(
    node_api: NodeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The preview has shown this pod as one that leaves. Seen on a lab."""
    node_api.keep_pods("train", "exporter")
    take()
    gather, rounds = node_api.gather, list[int]()

    def end_job(*words: Any, **options: Any) -> Any:
        rounds.append(1)
        if len(rounds) == 4:
            objects = node_api.read()
            for pod in objects["pods"]:
                if pod["metadata"]["name"].startswith("train"):
                    pod["status"] |= {"phase": "Succeeded"}
            node_api.write(objects)
        return gather(*words, **options)

    monkeypatch.setattr(drain_plan, "gather", end_job)
    assert take()["reason"] is None
    assert [name for name in node_api.list_pod_names() if "train" in name]
