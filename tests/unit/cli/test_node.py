"""`node drain` and `node uncordon`: shown before they ask, asked before they change, and nothing done without a yes."""

import json
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner, Result

from gpustack.cli.app import app
from gpustack.errors import GpustackError
from tests.worlds.programs.node_api import NodeApi


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["node", *words, "-q"])


def expect_error(*words: str) -> GpustackError:
    error = run(*words).exception
    assert isinstance(error, GpustackError), error
    return error


def test_a_check_shows_who_runs_there_and_changes_nothing(node_api: NodeApi) -> None:
    before = node_api.read()
    result = run("drain", "gpu1", "--check")
    assert (result.exit_code, node_api.read()) == (1, before)
    assert "checked only, nothing was changed: 3 pods refused" in result.stdout
    assert "Job train" in result.stdout


def test_a_check_of_what_can_be_drained_is_ok(node_api: NodeApi) -> None:
    node_api.keep_pods("train", "exporter")
    assert run("drain", "gpu1", "--check").exit_code == 0


def test_without_a_terminal_nothing_is_drained_but_all_is_shown(node_api: NodeApi) -> None:
    node_api.keep_pods("train")
    result = run("drain", "gpu1")
    assert isinstance(result.exception, GpustackError)
    assert (result.exception.reference, result.exception.code) == ("node-declined", 5)
    assert result.exception.hint == "gpustack node drain gpu1 --yes -i hosts.yml"
    assert "node gpu1, host h1: to be drained" in result.stdout
    assert node_api.read()["calls"] == []


def test_the_command_to_repeat_has_the_named_pods(node_api: NodeApi) -> None:
    node_api.keep_pods("notebook")
    hint = expect_error("drain", "gpu1", "--end-pod", "team-a/notebook").hint
    assert hint == "gpustack node drain gpu1 --end-pod team-a/notebook --yes -i hosts.yml"


def test_a_yes_does_not_give_up_pods(node_api: NodeApi) -> None:
    assert expect_error("drain", "gpu1", "--yes").reference == "node-pods-refused"
    assert node_api.read()["calls"] == []


def test_a_drain_is_one_document(node_api: NodeApi) -> None:
    node_api.keep_pods("train", "exporter")
    node_api.holders = "812\troot\t-\t/usr/bin/nvidia-persistenced\n"
    result = run("drain", "gpu1", "--yes", "-o", "json", "--timeout", "20")
    document = json.loads(result.stdout)
    assert (document["schema"], document["exit"]["code"], result.exit_code) == ("gpustack/node-drain/v1", 0, 0)
    outcomes = {pod["pod"].partition("-")[0]: (pod["outcome"], pod["reason"]) for pod in document["pods"]}
    assert outcomes == {"exporter": ("stays", "DaemonSet"), "train": ("left", None)}
    assert (document["node"], document["node_host"], document["cordoned_by"]) == ("gpu1", "h1", "gpustack")
    assert document["device_holders"] == [
        {"pid": 812, "user": "root", "program": "/usr/bin/nvidia-persistenced", "holder_pod": None}
    ]
    assert document["next"] == "gpustack node uncordon gpu1 -i hosts.yml"


def test_a_second_drain_changes_nothing_and_asks_nothing(node_api: NodeApi) -> None:
    node_api.keep_pods("train", "exporter")
    assert run("drain", "gpu1", "--yes", "--timeout", "20").exit_code == 0
    before = node_api.read()
    result = run("drain", "gpu1")
    assert (result.exit_code, node_api.read()) == (0, before)
    assert "nothing was left to drain" in result.stdout


def test_pods_that_remain_are_named_in_the_report(node_api: NodeApi) -> None:
    node_api.keep_pods("web")
    result = run("drain", "gpu1", "--yes", "--timeout", "1s")
    assert result.exit_code == 1
    assert "2 pods did not leave" in result.stdout
    assert "budget web (minAvailable 2)" in " ".join(result.stdout.split())


def test_an_uncordon_undoes_a_drain_of_gpustack(node_api: NodeApi) -> None:
    node_api.keep_pods("train")
    node_api.set_proof(datetime.now(UTC))
    run("drain", "gpu1", "--yes", "--timeout", "20")
    assert expect_error("uncordon", "gpu1").hint == "gpustack node uncordon gpu1 --yes -i hosts.yml"
    assert run("uncordon", "gpu1", "--yes").stdout == "node gpu1: uncordoned\n"
    assert node_api.read_node()["spec"] == {}


def test_a_second_uncordon_changes_nothing(node_api: NodeApi) -> None:
    document = json.loads(run("uncordon", "gpu1", "-o", "json").stdout)
    assert (document["uncordoned"], document["exit"]["code"], node_api.read()["calls"]) == (False, 0, [])


def test_the_cordon_of_a_person_needs_its_own_word(node_api: NodeApi) -> None:
    node_api.set_cordon("kubectl")
    error = expect_error("uncordon", "gpu1", "--yes")
    assert (error.reference, node_api.read_node()["spec"]) == ("node-cordon-foreign", {"unschedulable": True})
    assert run("uncordon", "gpu1", "--yes", "--foreign").exit_code == 0
    assert node_api.read_node()["spec"] == {}


@pytest.mark.parametrize("command", ["drain", "uncordon"])
def test_an_unknown_node_is_wrong_usage(node_api: NodeApi, command: str) -> None:
    error = expect_error(command, "gpu9", "--yes")
    assert (error.reference, error.code) == ("node-unknown", 2)
