"""`node drain` and `node uncordon`: shown before they ask, asked before they change, and nothing done without a yes."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpustack.cli import session
from gpustack.cli.app import app
from gpustack.errors import GpustackError
from gpustack.nodes import drain, drain_plan
from gpustack.rollout import evidence
from gpustack.rollout import run as locked_run
from gpustack.rollout.lease import Places
from tests.worlds.programs.node_api import NodeApi


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> NodeApi:
    node_api = NodeApi(tmp_path)

    @contextmanager
    def hold_locks(places: Places, doing: str, **_: Any) -> Iterator[SimpleNamespace]:
        assert [host.name for host in places.first_hosts] == ["k1"]

        def require(names: Sequence[str]) -> None:
            assert names == ["k1"]

        yield SimpleNamespace(loss_reason="", run="", expiry=inf, holder="ann", require=require)

    monkeypatch.setattr(session, "open_inventory", lambda *_, **__: node_api.gather().inventory)
    monkeypatch.setattr(drain_plan, "gather", node_api.gather)
    monkeypatch.setattr(drain, "PAUSE", 0.01)
    monkeypatch.setattr(locked_run, "hold_locks", hold_locks)
    monkeypatch.setattr(locked_run, "run_script", node_api.execute)
    folders = count()
    monkeypatch.setattr(evidence, "locate_runs", lambda: tmp_path / f"runs-{next(folders)}")
    return node_api


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["node", *words, "-q"])


def expect_error(*words: str) -> GpustackError:
    error = run(*words).exception
    assert isinstance(error, GpustackError), error
    return error


def test_a_check_shows_who_runs_there_and_changes_nothing(api: NodeApi) -> None:
    before = api.read()
    result = run("drain", "gpu1", "--check")
    assert (result.exit_code, api.read()) == (1, before)
    assert "checked only, nothing was changed: 3 pods refused" in result.stdout
    assert "Job train" in result.stdout


def test_a_check_of_what_can_be_drained_is_ok(api: NodeApi) -> None:
    api.keep_pods("train", "exporter")
    assert run("drain", "gpu1", "--check").exit_code == 0


def test_without_a_terminal_nothing_is_drained_but_all_is_shown(api: NodeApi) -> None:
    api.keep_pods("train")
    result = run("drain", "gpu1")
    assert isinstance(result.exception, GpustackError)
    assert (result.exception.reference, result.exception.code) == ("node-declined", 5)
    assert result.exception.hint == "gpustack node drain gpu1 --yes -i hosts.yml"
    assert "node gpu1, host h1: to be drained" in result.stdout
    assert api.read()["calls"] == []


def test_the_command_to_repeat_has_the_named_pods(api: NodeApi) -> None:
    api.keep_pods("notebook")
    hint = expect_error("drain", "gpu1", "--end-pod", "team-a/notebook").hint
    assert hint == "gpustack node drain gpu1 --end-pod team-a/notebook --yes -i hosts.yml"


def test_a_yes_does_not_give_up_pods(api: NodeApi) -> None:
    assert expect_error("drain", "gpu1", "--yes").reference == "node-pods-refused"
    assert api.read()["calls"] == []


def test_a_drain_is_one_document(api: NodeApi) -> None:
    api.keep_pods("train", "exporter")
    api.holders = "812\troot\t-\t/usr/bin/nvidia-persistenced\n"
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


def test_a_second_drain_changes_nothing_and_asks_nothing(api: NodeApi) -> None:
    api.keep_pods("train", "exporter")
    assert run("drain", "gpu1", "--yes", "--timeout", "20").exit_code == 0
    before = api.read()
    result = run("drain", "gpu1")
    assert (result.exit_code, api.read()) == (0, before)
    assert "nothing was left to drain" in result.stdout


def test_pods_that_remain_are_named_in_the_report(api: NodeApi) -> None:
    api.keep_pods("web")
    result = run("drain", "gpu1", "--yes", "--timeout", "1s")
    assert result.exit_code == 1
    assert "2 pods did not leave" in result.stdout
    assert "budget web (minAvailable 2)" in " ".join(result.stdout.split())


def test_an_uncordon_undoes_a_drain_of_gpustack(api: NodeApi) -> None:
    api.keep_pods("train")
    run("drain", "gpu1", "--yes", "--timeout", "20")
    assert expect_error("uncordon", "gpu1").hint == "gpustack node uncordon gpu1 --yes -i hosts.yml"
    assert run("uncordon", "gpu1", "--yes").stdout == "node gpu1: uncordoned\n"
    assert api.read_node()["spec"] == {}


def test_a_second_uncordon_changes_nothing(api: NodeApi) -> None:
    document = json.loads(run("uncordon", "gpu1", "-o", "json").stdout)
    assert (document["uncordoned"], document["exit"]["code"], api.read()["calls"]) == (False, 0, [])


def test_the_cordon_of_a_person_needs_its_own_word(api: NodeApi) -> None:
    api.set_cordon("kubectl")
    error = expect_error("uncordon", "gpu1", "--yes")
    assert (error.reference, api.read_node()["spec"]) == ("node-cordon-foreign", {"unschedulable": True})
    assert run("uncordon", "gpu1", "--yes", "--foreign").exit_code == 0
    assert api.read_node()["spec"] == {}


@pytest.mark.parametrize("command", ["drain", "uncordon"])
def test_an_unknown_node_is_wrong_usage(api: NodeApi, command: str) -> None:
    error = expect_error(command, "gpu9", "--yes")
    assert (error.reference, error.code) == ("node-unknown", 2)
