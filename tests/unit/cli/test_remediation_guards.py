"""The guard rails of `gpustack remediate`, each of which refuses through the command."""

import re
from datetime import timedelta
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.remediation.guards import GUARDS
from tests.contract.sources import PRODUCT, ROOT
from tests.unit.cli.remediations import (
    check,
    drain_node,
    expect_error,
    list_refusals,
    record_act,
    replace_sources,
    run,
)
from tests.unit.cli.unwell_gpus import UnwellGpus
from tests.worlds.programs.node_api import NodeApi


@pytest.fixture(autouse=True)
def gpus(monkeypatch: pytest.MonkeyPatch) -> UnwellGpus:
    return replace_sources(monkeypatch)


def test_fresh_data_refuses_clocks_that_are_apart(node_api: NodeApi, gpus: UnwellGpus) -> None:
    gpus.lag = 900
    result = run("gpu1:0", "--check")
    assert (result.exit_code, list_refusals()) == (1, ["fresh-data"])
    assert "the clocks of Prometheus and of this machine are 15 min apart" in result.stdout


def test_fresh_data_refuses_a_record_that_cannot_be_read(node_api: NodeApi) -> None:
    objects = node_api.read()
    objects["nodes"][0]["metadata"]["annotations"] = {"gpustack.io/remediation": "{}"}
    node_api.write(objects)
    assert list_refusals() == ["fresh-data"]


@pytest.mark.parametrize("values", [{"XID_ERRORS": 48}, {"GET_GPU_RECOVERY_ACTION": 1}])
def test_two_signals_refuses_what_one_source_asks_for(
    node_api: NodeApi, gpus: UnwellGpus, values: dict[str, float]
) -> None:
    gpus.values = values
    assert (list_refusals(), check()["rungs"][0]["rung_state"]) == (["two-signals"], "next")


def test_person_cordon_refuses_every_act(node_api: NodeApi) -> None:
    node_api.set_cordon("kubectl-cordon")
    assert "person-cordon" in list_refusals()


def change_node(node_api: NodeApi, name: str, **spec: Any) -> None:
    objects = node_api.read()
    (node,) = (node for node in objects["nodes"] if node["metadata"]["name"] == name)
    node["spec"] = spec
    node_api.write(objects)


def test_last_gpu_node_and_nodes_out_refuse_beside_a_cordoned_node(node_api: NodeApi) -> None:
    change_node(node_api, "k1", unschedulable=True)
    assert list_refusals() == ["last-gpu-node", "nodes-out"]


def test_a_node_behind_the_gate_is_out_of_service(node_api: NodeApi) -> None:
    change_node(node_api, "k1", taints=[{"key": "gpustack.io/unproven", "value": "reboot", "effect": "NoSchedule"}])
    refusals = {refusal["guard"]: refusal["reason"] for refusal in check()["refusals"]}
    assert refusals["nodes-out"] == "k1 is cordoned, not Ready or behind the gate; of 2, 1 may be"


def test_last_gpu_node_refuses_where_no_other_node_offers_a_gpu(node_api: NodeApi) -> None:
    objects = node_api.read()
    for node in objects["nodes"]:
        if node["metadata"]["name"] == "k1":
            node["status"]["allocatable"]["nvidia.com/gpu"] = "0"
    node_api.write(objects)
    assert list_refusals() == ["last-gpu-node"]


def test_upgrade_refuses_kubelets_of_several_versions(node_api: NodeApi) -> None:
    node_api.old_nodes = {"k1"}
    assert list_refusals() == ["upgrade"]


def test_upgrade_refuses_while_another_node_reboots(node_api: NodeApi) -> None:
    objects = node_api.read()
    for node in objects["nodes"]:
        if node["metadata"]["name"] == "k1":
            node["metadata"]["annotations"] = {"gpustack.io/reboot": "{}"}
    node_api.write(objects)
    assert list_refusals() == ["upgrade"]


def test_upgrade_refuses_beside_an_upgrade_of_a_driver(node_api: NodeApi) -> None:
    objects = node_api.read()
    labels = {"nvidia.com/gpu-driver-upgrade-state": "upgrade-done"}
    objects["nodes"][1]["metadata"]["labels"] = labels
    node_api.write(objects)
    assert list_refusals() == []
    labels["nvidia.com/gpu-driver-upgrade-state"] = "pod-restart-required"
    node_api.write(objects)
    assert list_refusals() == ["upgrade"]


def test_prometheus_node_refuses_to_evict_the_source_of_verdicts(node_api: NodeApi) -> None:
    node_api.keep_pods("web", "exporter")
    node_api.set_cordon("gpustack-nodes", "{}")
    node_api.set_allowance(2)
    objects = node_api.read()
    pod = next(pod for pod in objects["pods"] if pod["metadata"]["name"].startswith("web"))
    pod["metadata"]["labels"]["app.kubernetes.io/name"] = "prometheus"
    node_api.write(objects)
    assert list_refusals() == ["prometheus-node"]


def test_budgets_refuses_a_drain_that_a_budget_does_not_allow(node_api: NodeApi) -> None:
    node_api.keep_pods("web", "exporter")
    node_api.set_cordon("gpustack-nodes", "{}")
    assert list_refusals() == ["budgets"]
    node_api.set_allowance(2)
    assert list_refusals() == []


def test_resets_per_week_refuses_a_third_reset(node_api: NodeApi) -> None:
    drain_node(node_api)
    record_act(node_api, "reset", timedelta(days=6))
    assert list_refusals() == []
    record_act(node_api, "reset", timedelta(days=5))
    assert list_refusals() == ["resets-per-week"]


def test_reboots_per_week_refuses_a_third_reboot(node_api: NodeApi, gpus: UnwellGpus) -> None:
    drain_node(node_api)
    gpus.values = {"XID_ERRORS": 79, "GET_GPU_RECOVERY_ACTION": 2}
    for days in (6, 5):
        record_act(node_api, "reboot", timedelta(days=days))
    assert list_refusals() == ["reboots-per-week"]


def test_cool_down_refuses_within_an_hour_of_the_last_act(node_api: NodeApi) -> None:
    drain_node(node_api)
    record_act(node_api, "reset", timedelta(minutes=50), "failed")
    assert list_refusals() == ["cool-down"]


def test_cool_down_refuses_where_the_last_act_is_in_the_future(node_api: NodeApi) -> None:
    drain_node(node_api)
    record_act(node_api, "reset", timedelta(minutes=-50), "failed")
    assert list_refusals() == ["cool-down"]


def test_circuit_breaker_refuses_a_wave(node_api: NodeApi, gpus: UnwellGpus) -> None:
    gpus.wave = ("gpu2", "gpu3")
    assert list_refusals() == ["circuit-breaker"]


def test_circuit_breaker_refuses_after_two_failures_and_stops_no_return(node_api: NodeApi, gpus: UnwellGpus) -> None:
    drain_node(node_api, timedelta(minutes=1))
    record_act(node_api, "reset", timedelta(hours=3), "failed", "k1")
    assert list_refusals() == []
    record_act(node_api, "reboot", timedelta(hours=2), "failed", "k1")
    assert list_refusals() == ["circuit-breaker"]
    gpus.values = {}
    document = check("gpu1")
    assert (document["refusals"], document["next"]) == ([], "gpustack gpu diag --cordoned --node gpu1 -i hosts.yml")
    assert CliRunner().invoke(app, ["node", "uncordon", "gpu1", "--yes", "-q", "--unproven"]).exit_code == 0


def test_circuit_breaker_counts_no_drain_whose_jobs_went_on(node_api: NodeApi) -> None:
    drain_node(node_api)
    for hours in (2, 3):
        record_act(node_api, "drain", timedelta(hours=hours), "failed")
    assert list_refusals() == []


def test_a_refusal_names_the_guard_rail_the_reason_and_what_to_do(node_api: NodeApi) -> None:
    node_api.old_nodes = {"k1"}
    error = expect_error("gpu1:0", "--yes")
    assert (error.reference, error.code, node_api.read()["calls"]) == ("remediation-refused", 5, [])
    assert error.message == "Guard rails refuse the rung cordon of gpu1:0; nothing was changed."
    assert error.reason == "upgrade: the kubelets have several versions: 1.35.4, 1.36.4"
    assert error.hint == "kubectl get nodes"


def test_each_guard_rail_is_in_a_lab_test_by_its_name() -> None:
    text = (ROOT / "tests" / "lab" / "gpus" / "test_remediate.py").read_text()
    assert [guard.id for guard in GUARDS if guard.id not in text and guard.id.replace("-", "_") not in text] == []


def test_each_guard_rail_is_in_the_documentation_and_on_the_page() -> None:
    ids = [guard.id for guard in GUARDS]
    document = (ROOT / "docs" / "care.md").read_text().partition("## Guard rails")[2].partition("\n## ")[0]
    page = yaml.safe_load((PRODUCT / "pages" / "remediation.yaml").read_text())["remediation-refused"]["text"]
    assert re.findall(r"(?m)^\| `([a-z-]+)` \| [^|]+ \| [^|]+ \|$", document) == ids
    assert re.findall(r"(?m)^([a-z-]+)  +\S", page) == ids
