"""The ladder of `gpustack remediate`: its rungs by the verdict, the next one, and the rungs back."""

from datetime import timedelta

import pytest

from tests.unit.cli.remediations import (
    check,
    drain_node,
    expect_error,
    list_refusals,
    list_states,
    record_act,
    replace_sources,
    run,
)
from tests.unit.cli.unwell_gpus import UnwellGpus
from tests.worlds.programs.node_api import NodeApi


@pytest.fixture(autouse=True)
def gpus(monkeypatch: pytest.MonkeyPatch) -> UnwellGpus:
    return replace_sources(monkeypatch)


def test_a_check_shows_the_ladder_and_changes_nothing(node_api: NodeApi) -> None:
    result = run("gpu1:0", "--check")
    text = " ".join(result.stdout.split())
    assert (result.exit_code, node_api.read()["calls"]) == (0, [])
    assert "gpu1:0: reset. Drain the node and reset the GPU." in text
    assert "GPU 0 reset: the driver asks: reset the GPU; Xid 48: Double Bit ECC Error" in text
    assert "next cordon - nothing ends; new pods go elsewhere" in text
    assert "team-a/train-9cqn5 Job train 2" in text
    assert text.endswith("next: gpustack remediate gpu1:0 -i hosts.yml")


def test_the_ladder_follows_the_verdict(node_api: NodeApi, gpus: UnwellGpus) -> None:
    rungs = ["cordon", "drain", "reset", "reboot", "hand-over", "diag", "prove", "uncordon"]
    assert list(list_states("gpu1")) == rungs
    gpus.values = {"XID_ERRORS": 79, "GET_GPU_RECOVERY_ACTION": 2}
    assert list(list_states()) == [rung for rung in rungs if rung != "reset"]
    gpus.values = {"XID_ERRORS": 64, "ROW_REMAP_FAILURE": 1}
    assert list(list_states()) == [rung for rung in rungs if rung not in ("reset", "reboot")]


def test_a_gpu_that_is_well_has_no_ladder(node_api: NodeApi) -> None:
    result = run("gpu1:1")
    assert (result.exit_code, node_api.read()["calls"]) == (0, [])
    assert "no rung: the verdict asks for nothing on the node" in result.stdout


def test_a_rung_is_next_where_those_before_it_are_done(node_api: NodeApi) -> None:
    node_api.set_cordon("gpustack-nodes", "{}")
    assert list_states()["drain"] == "next"
    drain_node(node_api)
    assert list_states() == {"cordon": "done", "drain": "done", "reset": "next"} | dict.fromkeys(
        ("reboot", "hand-over", "diag", "prove", "uncordon"), "open"
    )
    record_act(node_api, "reset", timedelta(minutes=90), "failed")
    assert list_states()["reboot"] == "next"
    record_act(node_api, "reboot", timedelta(minutes=80))
    assert list_states()["hand-over"] == "next"
    assert check()["next"] == "gpustack snapshot --redact addresses --out gpu1.jsonl -i hosts.yml"


def test_an_act_before_the_cordon_does_not_count_as_a_rung(node_api: NodeApi) -> None:
    drain_node(node_api)
    record_act(node_api, "reset", timedelta(hours=3))
    assert list_states()["reset"] == "next"


def test_a_node_has_not_recovered_by_an_act_before_its_cordon(node_api: NodeApi, gpus: UnwellGpus) -> None:
    drain_node(node_api)
    record_act(node_api, "reset", timedelta(hours=3))
    gpus.values = {"XID_ERRORS": 48}
    assert (list_states()["reset"], list_refusals()) == ("next", ["two-signals"])


def test_the_way_back_is_the_diagnostic_the_proof_and_the_uncordon(node_api: NodeApi, gpus: UnwellGpus) -> None:
    drain_node(node_api)
    record_act(node_api, "reset", timedelta(minutes=5))
    gpus.values = {}
    document = check("gpu1")
    assert list(list_states("gpu1")) == ["cordon", "drain", "reset", "diag", "prove", "uncordon"]
    assert [rung["rung_command"] for rung in document["rungs"][3:]] == [
        "gpustack gpu diag --cordoned --node gpu1 -i hosts.yml",
        "gpustack prove --cordoned --limit h1 -i hosts.yml",
        "gpustack node uncordon gpu1 -i hosts.yml",
    ]
    assert (document["next"], document["exit"]["code"]) == (document["rungs"][3]["rung_command"], 0)


def test_a_withheld_gpu_that_is_well_has_the_device_plugin_restarted(node_api: NodeApi, gpus: UnwellGpus) -> None:
    gpus.values, gpus.withheld_count = {}, 1
    node_api.drop_device()
    assert list_states("gpu1") == {"device-plugin": "next"}


def test_a_gpu_that_was_withheld_at_the_last_scrape_has_no_device_plugin_restarted(
    node_api: NodeApi, gpus: UnwellGpus
) -> None:
    gpus.values, gpus.withheld_count = {}, 1
    assert "device-plugin" not in list_states("gpu1")


@pytest.mark.parametrize("word", ["gpu1:", "gpu1:a b", "GPU1", "gpu9", "gpu1:9", "gpu1:GPU-"])
def test_a_target_that_names_nothing_is_wrong_usage(node_api: NodeApi, word: str) -> None:
    assert expect_error(word, "--check").code == 2
