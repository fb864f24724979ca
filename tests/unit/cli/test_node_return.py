"""`node uncordon` returns a node by a proof: refused while its GPUs are not proven, and not for nodes without GPUs."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner, Result

from gpustack.cli.app import app
from gpustack.errors import GpustackError
from tests.unit.cli.remediations import drain_node, record_act
from tests.worlds.programs.node_api import BOOTED_AT, NodeApi

BOOT = datetime.fromtimestamp(BOOTED_AT, UTC)
HOUR = timedelta(hours=1)


def uncordon(*words: str) -> Result:
    return CliRunner().invoke(app, ["node", "uncordon", "gpu1", "--yes", *words, "-q"])


def expect_refusal(node_api: NodeApi, *words: str) -> GpustackError:
    error = uncordon(*words).exception
    assert isinstance(error, GpustackError), error
    assert (error.reference, error.code) == ("node-cordon-unproven", 5)
    assert node_api.read_node()["spec"]["unschedulable"]
    return error


def test_a_proof_after_the_boot_returns_the_node(node_api: NodeApi) -> None:
    drain_node(node_api)
    node_api.set_proof(BOOT + HOUR)
    assert uncordon().stdout == "node gpu1: uncordoned\n"


def test_a_boot_after_the_proof_is_refused_with_the_command_of_a_proof(node_api: NodeApi) -> None:
    drain_node(node_api)
    node_api.set_proof(BOOT - HOUR)
    error = expect_refusal(node_api)
    assert error.reason == (
        f"its host booted at {BOOT:%Y-%m-%d %H:%M} UTC, after the last proof of all its GPUs at "
        f"{BOOT - HOUR:%Y-%m-%d %H:%M} UTC"
    )
    assert error.hint == "gpustack prove --cordoned --limit h1 -i hosts.yml"


def test_a_node_that_was_never_proven_is_refused(node_api: NodeApi) -> None:
    drain_node(node_api)
    assert expect_refusal(node_api).reason == "it has no record of a proof of all its GPUs"


@pytest.mark.parametrize("rung", ["cordon", "drain", "reset", "device-plugin", "reboot"])
def test_an_act_after_the_proof_is_refused_and_named(node_api: NodeApi, rung: str) -> None:
    drain_node(node_api)
    node_api.set_proof(datetime.now(UTC) - 2 * HOUR)
    record_act(node_api, rung, HOUR)
    assert f"no proof of all its GPUs came after the {rung}" in expect_refusal(node_api).reason


def test_a_proof_after_the_act_returns_the_node(node_api: NodeApi) -> None:
    drain_node(node_api)
    record_act(node_api, "reset", HOUR)
    node_api.set_proof(datetime.now(UTC))
    assert uncordon().exit_code == 0


def test_an_option_returns_it_without_a_proof(node_api: NodeApi) -> None:
    drain_node(node_api)
    record_act(node_api, "reset", HOUR)
    assert uncordon("--unproven").exit_code == 0
    assert node_api.read_node()["spec"] == {}


@pytest.mark.parametrize(
    ("key", "text", "reason"),
    [
        ("remediation", "{}", "its record of the acts of gpustack remediate cannot be read"),
        ("proven-gpus", "{}", "its record of a proof cannot be read"),
    ],
)
def test_a_record_that_cannot_be_read_proves_nothing(node_api: NodeApi, key: str, text: str, reason: str) -> None:
    drain_node(node_api)
    node_api.set_proof(datetime.now(UTC))
    node_api.set_annotation(key, text)
    assert expect_refusal(node_api).reason == reason


def test_an_unknown_boot_proves_nothing(node_api: NodeApi) -> None:
    drain_node(node_api)
    node_api.set_proof(datetime.now(UTC))
    node_api.lost_hosts = {"h1"}
    assert expect_refusal(node_api).reason.startswith("when its host booted is unknown: h1: ")


def test_a_reboot_under_way_is_continued_by_its_own_command(node_api: NodeApi) -> None:
    drain_node(node_api)
    node_api.set_proof(datetime.now(UTC))
    node_api.set_annotation("reboot", "{}")
    assert expect_refusal(node_api).hint == "gpustack node reboot gpu1 -i hosts.yml"


def test_a_killed_reset_is_ended_by_its_own_command(node_api: NodeApi) -> None:
    drain_node(node_api)
    node_api.set_proof(datetime.now(UTC))
    set_taint(node_api, "gpustack.io/reset", "NoExecute")
    assert expect_refusal(node_api).hint == "gpustack remediate gpu1 -i hosts.yml"


def test_the_gate_keeps_pods_away_in_place_of_a_cordon(node_api: NodeApi) -> None:
    drain_node(node_api)
    record_act(node_api, "reset", HOUR)
    set_taint(node_api, "gpustack.io/unproven", "NoSchedule")
    assert uncordon().exit_code == 0


def test_a_node_without_gpus_needs_no_proof(node_api: NodeApi) -> None:
    drain_node(node_api)
    replace_devices(node_api, {})
    assert uncordon().exit_code == 0


def test_a_gpu_node_that_offers_none_needs_a_proof(node_api: NodeApi) -> None:
    drain_node(node_api)
    replace_devices(node_api, {"nvidia.com/gpu": "0"})
    expect_refusal(node_api)


def test_mig_instances_whose_proof_leaves_no_record_need_none(node_api: NodeApi) -> None:
    drain_node(node_api)
    replace_devices(node_api, {"nvidia.com/mig-1g.10gb": "7"})
    assert uncordon().exit_code == 0
    drain_node(node_api)
    record_act(node_api, "reset", HOUR)
    expect_refusal(node_api)


def test_the_cordon_of_a_person_asks_for_no_proof_but_that_of_an_act(node_api: NodeApi) -> None:
    node_api.set_cordon("kubectl")
    assert uncordon("--foreign").exit_code == 0
    node_api.set_cordon("kubectl")
    record_act(node_api, "reset", HOUR)
    expect_refusal(node_api, "--foreign")
    assert uncordon("--foreign", "--unproven").exit_code == 0


def test_a_node_that_takes_pods_is_not_asked_for_a_proof(node_api: NodeApi) -> None:
    record_act(node_api, "reset", HOUR)
    assert json.loads(uncordon("-o", "json").stdout)["uncordoned"] is False


def set_taint(node_api: NodeApi, key: str, effect: str) -> None:
    objects = node_api.read()
    objects["nodes"][0]["spec"]["taints"] = [{"key": key, "effect": effect}]
    node_api.write(objects)


def replace_devices(node_api: NodeApi, devices: dict[str, str]) -> None:
    objects = node_api.read()
    allocatable = objects["nodes"][0]["status"]["allocatable"]
    del allocatable["nvidia.com/gpu"]
    allocatable |= devices
    node_api.write(objects)
