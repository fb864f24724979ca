"""`node reboot`: the order of nodes, what is skipped, what ends it, and what the same command continues."""

import json
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpustack.cli.app import app
from gpustack.errors import GpustackError
from gpustack.nodes import drain_plan, node_reboot, reboot_plan
from gpustack.nodes.reboot_record import RebootRecord, parse_reboot_record
from tests.worlds.programs.node_api import NodeApi
from tests.worlds.snapshots.answers import read_case

QUICK = ("--wait-for-jobs", "1s", "--timeout", "1s", "--boot-timeout", "5s")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["node", "reboot", *words, *QUICK, "-q"])


def list_reboots(node_api: NodeApi) -> list[str]:
    return [call[1] for call in node_api.read()["calls"] if call[0] == "reboot"]


def test_the_control_plane_comes_last(node_api: NodeApi) -> None:
    node_api.keep_pods("exporter")
    result = run("k1", "gpu1", "--yes")
    assert (result.exit_code, list_reboots(node_api)) == (0, ["h1", "k1"]), result.exception
    assert "2 rebooted" in result.stdout
    assert [node_api.read_node(name)["metadata"].get("annotations", {}) for name in ("k1", "gpu1")] == [{}, {}]


def test_without_a_yes_nothing_is_recorded(node_api: NodeApi) -> None:
    node_api.keep_pods("exporter")
    result = run("gpu1")
    assert isinstance(result.exception, GpustackError)
    assert (result.exception.reference, node_api.read()["calls"]) == ("node-declined", [])
    assert result.exception.hint == f"gpustack node reboot gpu1 {' '.join(QUICK)} --yes -i hosts.yml"


def test_a_check_names_what_waits_and_what_is_refused(node_api: NodeApi) -> None:
    result = run("--check")
    text = " ".join(result.stdout.split())
    assert (result.exit_code, node_api.read()["calls"]) == (1, [])
    assert "2 hosts to be rebooted, one host after the other" in text
    assert "until these have ended: default/slice, team-a/notebook, team-a/train-9cqn5 (Job train)" in text
    assert "refused team-a/cache-8488fccc77-xkwtd: its emptyDir data, fast is lost" in text
    assert "control plane, so it comes last" in text


def test_a_check_of_nodes_that_can_be_rebooted_is_good(node_api: NodeApi) -> None:
    node_api.keep_pods("exporter", "train", "slice")
    assert run("--check").exit_code == 0


def test_a_node_that_cannot_be_drained_holds_up_no_other(node_api: NodeApi) -> None:
    node_api.keep_pods("exporter", "train")
    objects = node_api.read()
    result = run("--yes", "-o", "json")
    document = json.loads(result.stdout)
    ends = {entry["node"]: entry["outcome"] for entry in document["nodes"]}
    assert objects["nodes"]
    assert ends["gpu1"] == "skipped"
    assert (document["exit"]["code"], "h1" in list_reboots(node_api)) == (1, False)
    assert node_api.read_node("gpu1")["metadata"]["annotations"] == {}


def test_the_next_command_evicts_the_pods_for_which_a_node_was_skipped(node_api: NodeApi) -> None:
    node_api.keep_pods("exporter", "cache")
    document = json.loads(run("gpu1", "--yes", "-o", "json").stdout)
    pod = "team-a/cache-8488fccc77-xkwtd"
    assert document["next"] == f"gpustack node reboot gpu1 -i hosts.yml --end-pod {pod}    # ends these pods as well"


def test_a_node_that_is_not_as_before_ends_the_reboot_and_is_continued(
    node_api: NodeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    node_api.keep_pods("exporter")
    execute = node_api.execute

    def lose_gpu(host: Any, script: str, **options: Any) -> Any:
        yield from execute(host, script, **options)
        if "systemctl reboot" in script:
            set_gpus(node_api, "3")

    monkeypatch.setattr("gpustack.rollout.run.run_script", lose_gpu)
    result = CliRunner().invoke(app, ["node", "reboot", "--yes", "-q", "-o", "json", "--boot-timeout", "2s"])
    document = json.loads(result.stdout)
    assert [(entry["node"], entry["outcome"]) for entry in document["nodes"]] == [("gpu1", "failed"), ("k1", "due")]
    assert document["nodes"][0]["reason"].startswith("it offers 3 of 4 nvidia.com/gpu")
    assert (document["exit"]["code"], document["next"]) == (5, "gpustack node reboot gpu1 k1 -i hosts.yml")
    assert node_api.read_node()["spec"] == {"unschedulable": True}
    monkeypatch.setattr("gpustack.rollout.run.run_script", execute)
    set_gpus(node_api, "4")
    second_run = run("gpu1", "k1", "--yes")
    assert (second_run.exit_code, list_reboots(node_api)) == (0, ["h1", "k1"]), "gpu1 is not rebooted twice"
    assert node_api.read_node()["spec"] == {}


def test_the_name_of_a_host_is_answered_with_its_node(node_api: NodeApi) -> None:
    error = run("h1", "--check").exception
    assert isinstance(error, GpustackError)
    assert error.message == "The cluster has no node h1."
    assert error.reason == "h1 is a host of the inventory, and its node is gpu1. Nodes: gpu1, k1"


@pytest.mark.parametrize(
    ("case", "outcome"),
    [
        ("newer-kernel", "skipped"),
        ("not-built", "rebooted"),
        ("prepared-debian-12", "rebooted"),
        ("fresh-debian-12", "rebooted"),
        ("container", "rebooted"),
        ("odd", "rebooted"),
    ],
)
def test_no_host_is_rebooted_into_a_kernel_without_the_driver_that_it_has(
    node_api: NodeApi, case: str, outcome: str
) -> None:
    """The running kernel of each skipped host has a module of the driver, and that of its next boot has none."""
    node_api.keep_pods("exporter")
    node_api.further_answers = [replace(read_case("gpu.kernels", case), location="h1")]
    (node, _) = json.loads(run("--yes", "-o", "json").stdout)["nodes"]
    assert (node["node"], node["outcome"]) == ("gpu1", outcome)
    assert ("no module of the NVIDIA driver is built" in str(node["reason"])) == (outcome == "skipped")
    assert ("h1" in list_reboots(node_api)) == (outcome == "rebooted")


def set_gpus(node_api: NodeApi, number: str) -> None:
    objects = node_api.read()
    (node,) = (node for node in objects["nodes"] if node["metadata"]["name"] == "gpu1")
    node["status"]["allocatable"]["nvidia.com/gpu"] = number
    node_api.write(objects)


class KilledError(Exception):
    """Stand for kill -9."""


@pytest.mark.parametrize("moment", range(1, 9))
def test_a_killed_reboot_is_continued_by_the_same_command(
    node_api: NodeApi, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """Kill before each script that changes something."""
    node_api.keep_pods("exporter", "web")
    node_api.set_allowance(2)
    execute, scripts = node_api.execute, list[str]()

    def kill(host: Any, script: str, **options: Any) -> Any:
        scripts.append(script)
        if len(scripts) == moment:
            raise KilledError
        yield from execute(host, script, **options)

    monkeypatch.setattr("gpustack.rollout.run.run_script", kill)
    first_run = run("gpu1", "k1", "--yes")
    monkeypatch.setattr("gpustack.rollout.run.run_script", execute)
    assert isinstance(first_run.exception, KilledError) or len(scripts) < moment
    second_run = run("gpu1", "k1", "--yes")
    assert second_run.exit_code == 0, second_run.exception or second_run.stdout
    reboots = list_reboots(node_api)
    assert reboots.count("h1") in {1, 2}
    if isinstance(first_run.exception, KilledError):
        assert reboots == ["h1", "k1"], "no host is rebooted twice"
    assert [node_api.read_node(name).get("spec", {}) for name in ("gpu1", "k1")] == [{}, {}]
    assert [node_api.read_node(name)["metadata"].get("annotations", {}) for name in ("gpu1", "k1")] == [{}, {}]


def test_a_host_that_still_boots_is_waited_for_by_the_next_run(
    node_api: NodeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that gives no answer is told by the record of its node."""
    node_api.keep_pods("exporter")
    execute, gather, rounds = node_api.execute, node_api.gather, count()

    def kill(host: Any, script: str, **options: Any) -> Any:
        yield from execute(host, script, **options)
        if "systemctl reboot" in script:
            node_api.lost_hosts = {"h1"}
            raise KilledError

    def boot(*words: Any, **options: Any) -> Any:
        if next(rounds) > 8:
            node_api.lost_hosts = set()
        return gather(*words, **options)

    monkeypatch.setattr("gpustack.rollout.run.run_script", kill)
    assert isinstance(run("--yes").exception, KilledError)
    monkeypatch.setattr("gpustack.rollout.run.run_script", execute)
    for module in (drain_plan, reboot_plan):
        monkeypatch.setattr(module, "gather", boot)
    second_run = run("--yes", "-o", "json")
    ends = [(entry["node"], entry["outcome"]) for entry in json.loads(second_run.stdout)["nodes"]]
    assert (ends, list_reboots(node_api)) == ([("gpu1", "rebooted"), ("k1", "rebooted")], ["h1", "k1"])


def test_a_host_that_left_the_inventory_ends_a_continued_reboot(node_api: NodeApi) -> None:
    node_api.keep_pods("exporter")
    objects = node_api.read()
    record = RebootRecord("gone", "b", {}, has_exporter=False, author="ann", begun_at="today")
    objects["nodes"][0]["metadata"]["annotations"] = {"gpustack.io/reboot": record.text}
    node_api.write(objects)
    node_api.lost_hosts = {"h1"}
    result = run("--yes", "-o", "json")
    ends = [(entry["node"], entry["outcome"]) for entry in json.loads(result.stdout)["nodes"]]
    assert (result.exit_code, ends, list_reboots(node_api)) == (5, [("gpu1", "failed"), ("k1", "due")], [])


def test_the_record_has_the_state_before(node_api: NodeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    node_api.keep_pods("train")
    monkeypatch.setattr(node_reboot.NodeReboot, "run", lambda reboot: stop())
    run("gpu1", "--yes")
    record = parse_reboot_record(node_api.read_node()["metadata"]["annotations"]["gpustack.io/reboot"])
    assert record
    assert (dict(record.devices), record.has_exporter, record.author) == ({"nvidia.com/gpu": 4}, False, "ann")
    assert node_api.read_node().get("spec", {}) == {}, "its turn has not come"


def stop() -> Any:
    raise KilledError


def test_hosts_that_ask_for_no_reboot_are_left_out(node_api: NodeApi) -> None:
    node_api.keep_pods("exporter")
    node_api.reboot_required = {"h1"}
    assert run("--if-required", "--yes").exit_code == 0
    node_api.reboot_required = set()
    before = node_api.read()
    result = run("--if-required")
    assert (result.exit_code, node_api.read(), before["boots"]) == (0, before, {"k1": 0, "h1": 1})
    assert "no host asks for a reboot: nothing to do" in result.stdout


@pytest.mark.parametrize(
    ("words", "reference"), [(["gpu9"], "node-unknown"), (["gpu1", "--end-pod", "a/b"], "node-unknown-pod")]
)
def test_an_unknown_name_is_wrong_usage(node_api: NodeApi, words: list[str], reference: str) -> None:
    error = run(*words, "--yes").exception
    assert isinstance(error, GpustackError)
    assert (error.reference, error.code) == (reference, 2)


def read_gate(node_api: NodeApi, name: str = "gpu1") -> list[tuple[str, str]]:
    """The keys and values of a node's taints."""
    taints = node_api.read_node(name).get("spec", {}).get("taints", [])
    return [(taint["key"], taint.get("value", "")) for taint in taints]


def test_a_gpu_node_comes_back_behind_the_gate(node_api: NodeApi) -> None:
    node_api.spec = {"gpu": {"gate": True}}
    node_api.keep_pods("exporter")
    result = run("k1", "gpu1", "--yes")
    assert (result.exit_code, list_reboots(node_api)) == (0, ["h1", "k1"])
    assert (read_gate(node_api), read_gate(node_api, "k1")) == ([("gpustack.io/unproven", "reboot")], [])
    assert "gpustack prove" in result.stdout


def test_the_gate_closes_before_the_host_reboots(node_api: NodeApi) -> None:
    node_api.spec = {"gpu": {"gate": True}}
    node_api.keep_pods("exporter")
    run("gpu1", "--yes")
    calls = ["gate" if "unproven" in str(call) else call[0] for call in node_api.read()["calls"]]
    assert calls.index("gate") < calls.index("reboot")


def test_a_node_that_is_skipped_gets_no_gate(node_api: NodeApi) -> None:
    node_api.spec = {"gpu": {"gate": True}}
    node_api.keep_pods("exporter", "train")
    assert run("gpu1", "--yes").exit_code == 1
    assert read_gate(node_api) == []


def test_without_the_setting_there_is_no_gate(node_api: NodeApi) -> None:
    node_api.keep_pods("exporter")
    assert "gpustack prove" not in run("gpu1", "--yes").stdout
    assert read_gate(node_api) == []
