"""`node remove`: a host that answers is drained and reset; the node of a dead one is deleted, and of no other."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpustack.ask import gather as gathering
from gpustack.ask.probe import Answer
from gpustack.cli.app import app
from gpustack.command import Command
from gpustack.errors import GpustackError
from gpustack.rollout import playbook
from gpustack.rollout.plan import PlaybookRun
from tests.worlds.programs.node_api import NodeApi
from tests.worlds.snapshots.reset_hosts import BARE, PLANE, WORKER, build_snapshot

RENEWED_AT = "2026-11-30T00:20:00.000000Z"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["node", "remove", *words, "-q"])


def expect_error(*words: str) -> GpustackError:
    error = run(*words).exception
    assert isinstance(error, GpustackError), error
    return error


@pytest.fixture
def dead_api(node_api: NodeApi) -> NodeApi:
    """The host of gpu1 gives no answer, and its kubelet has been silent for twenty minutes."""
    node_api.lost_hosts, node_api.silent = {"h1"}, True
    node_api.set_silence(RENEWED_AT)
    return node_api


@pytest.fixture
def live_api(node_api: NodeApi, monkeypatch: pytest.MonkeyPatch) -> NodeApi:
    """Hosts that answer about what gpustack left on them. The playbook removes it, and the node."""

    def place_traces(worker: dict[str, str]) -> None:
        worker = {name: text.replace("system:node:k2", "system:node:gpu1") for name, text in worker.items()}
        snapshot = build_snapshot({"k1": PLANE, "k2": worker})
        own_answers = {"system.identity", "system.hostname"}
        node_api.further_answers = [
            Answer(answer.probe, {"k2": "h1"}.get(answer.location, answer.location), 0, answer.stdout)
            for answer in snapshot.answers.values()
            if answer.location in ("k1", "k2") and answer.probe not in own_answers
        ]

    def play(name: str, hosts: Sequence[str], *_: Any, **options: Any) -> PlaybookRun:
        objects = node_api.read()
        objects["calls"].append([name, *hosts])
        objects["nodes"] = [node for node in objects["nodes"] if node["metadata"]["name"] != "gpu1"]
        node_api.write(objects)
        place_traces(BARE)
        return PlaybookRun(name, tuple(hosts), tuple(hosts), (), (), 1.0, Command("ansible-playbook", "reset.yml"))

    monkeypatch.setattr(gathering, "gather", node_api.gather)
    monkeypatch.setattr(playbook, "play", play)
    place_traces(WORKER)
    return node_api


def test_a_dead_node_is_shown_with_its_proof_and_its_volumes(dead_api: NodeApi) -> None:
    before = dead_api.read()
    result = run("gpu1", "--dead", "--check")
    text = " ".join(result.stdout.split())
    assert (result.exit_code, dead_api.read()) == (0, before)
    assert "SSH to h1: no answer from 10.0.0.2 within 10 s" in text
    assert "its kubelet was heard of 20 min ago" in text
    assert "monitoring/prometheus-db: pvc-7f1c of 50Gi in /opt/local-path-provisioner/pvc-7f1c is lost" in text
    assert "pvc-1 " not in text


def test_the_node_of_a_dead_host_is_deleted_and_nothing_else(dead_api: NodeApi) -> None:
    result = run("gpu1", "--dead", "--yes", "-o", "json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["removed"], document["node_host"], document["reasons"]) == (0, True, "h1", [])
    assert {pod["outcome"] for pod in document["pods"]} == {"lost"}
    assert [volume["name"] for volume in document["local_volumes"]] == ["models-1", "pvc-7f1c"]
    assert [node["metadata"]["name"] for node in dead_api.read()["nodes"]] == ["k1"]
    assert len(dead_api.read()["calls"]) == 1


def test_without_a_yes_the_node_of_a_dead_host_stays(dead_api: NodeApi) -> None:
    error = expect_error("gpu1", "--dead")
    assert (error.reference, error.hint) == ("node-declined", "gpustack node remove gpu1 --dead --yes -i hosts.yml")
    assert dead_api.read()["calls"] == []


def test_a_fresh_lease_is_a_sign_of_life(dead_api: NodeApi) -> None:
    dead_api.set_lease("2026-11-30T00:16:00.000000Z")
    error = expect_error("gpu1", "--dead", "--yes")
    assert (error.reference, error.code) == ("node-not-dead", 5)
    assert "its kubelet was heard of 4 min ago" in error.reason
    assert dead_api.read()["calls"] == []


def test_a_lease_that_is_renewed_meanwhile_ends_the_removal(dead_api: NodeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is late makes a lease look old."""
    gather = dead_api.gather
    moments = iter(("00:01:00", "00:02:00", "00:03:00"))

    def gather_later(*words: Any, **options: Any) -> Any:
        dead_api.set_lease(f"2026-11-30T{next(moments)}.000000Z")
        return gather(*words, **options)

    monkeypatch.setattr("gpustack.nodes.drain_plan.gather", gather_later)
    assert expect_error("gpu1", "--dead", "--yes").reference == "node-not-dead"
    assert dead_api.read()["calls"] == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda api: api.lost_hosts.clear(), "SSH reaches h1, which has its machine-id"),
        (lambda api: setattr(api, "silent", False), "SSH to h1: connection refused"),
        (lambda api: api.unread_probes.add("node.leases"), "heard of is unknown"),
        (lambda api: api.unread_probes.add("kube.leases"), "heard of is unknown"),
        (lambda api: api.set_lease("2026-11-30T00:40:00.000000Z"), "clocks differ"),
        (lambda api: api.write({**api.read(), "leases": []}), "its kubelet has no lease"),
        (lambda api: api.write({**api.read(), "programs": []}), "no program of the control plane has a lease"),
        (lambda api: api.set_ready(), "its node is Ready"),
    ],
)
def test_what_is_not_proven_dead_is_not_deleted(dead_api: NodeApi, change: Any, reason: str) -> None:
    change(dead_api)
    error = expect_error("gpu1", "--dead", "--yes")
    assert (error.reference, dead_api.read()["calls"]) == ("node-not-dead", [])
    assert reason in error.reason
    assert run("gpu1", "--dead", "--check").exit_code == 1


def test_unknown_volumes_are_not_taken_for_none(dead_api: NodeApi) -> None:
    dead_api.unread_probes.add("node.local-volumes")
    assert expect_error("gpu1", "--dead", "--yes").reference == "node-no-api"


@pytest.mark.parametrize("words", [(), ("--dead",)])
def test_a_control_plane_is_refused(live_api: NodeApi, words: tuple[str, ...]) -> None:
    error = expect_error("k1", "--yes", *words)
    assert (error.reference, "the only control plane" in error.reason) == ("node-control-plane", True)
    assert live_api.read()["calls"] == []


def test_a_host_that_gives_no_answer_needs_another_word(node_api: NodeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "gather", node_api.gather)
    node_api.lost_hosts, node_api.silent = {"h1"}, True
    error = expect_error("gpu1", "--yes")
    assert error.reference == "node-host-unknown"
    assert str(error.hint).startswith("gpustack node remove gpu1 --dead -i hosts.yml")


def test_a_live_node_is_drained_then_its_host_is_reset(live_api: NodeApi) -> None:
    live_api.keep_pods("train", "exporter")
    result = run("gpu1", "--yes", "-o", "json", "--timeout", "20")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["removed"], document["node_host"]) == (0, True, "h1")
    assert {pod["pod"].partition("-")[0]: pod["outcome"] for pod in document["pods"]} == {
        "exporter": "stays",
        "train": "left",
    }
    assert live_api.read()["calls"][-1] == ["reset", "h1"]


def test_a_live_node_is_shown_with_all_that_goes(live_api: NodeApi) -> None:
    live_api.keep_pods("train")
    result = run("gpu1", "--check")
    text = " ".join(result.stdout.split())
    assert (result.exit_code, live_api.read()["calls"]) == (0, [])
    assert "Job train" in text
    assert "control-plane /etc/kubernetes/kubelet.conf" in text
    assert "node gpu1: deleted" in text
    assert "pvc-7f1c of 50Gi in /opt/local-path-provisioner/pvc-7f1c stays on the host" in text


def test_pods_that_would_lose_something_keep_the_node(live_api: NodeApi) -> None:
    error = expect_error("gpu1", "--yes")
    assert (error.reference, live_api.read()["calls"]) == ("node-pods-refused", [])
    assert str(error.hint).startswith("gpustack node remove gpu1 ")
    assert run("gpu1", "--check").exit_code == 1


def test_while_a_pod_is_left_nothing_is_reset(live_api: NodeApi) -> None:
    live_api.keep_pods("web")
    result = run("gpu1", "--yes", "--timeout", "1s")
    assert (result.exit_code, "reset" in str(live_api.read()["calls"])) == (1, False)
    assert "still in the cluster" in result.stdout
    assert "gpustack node remove gpu1 -i hosts.yml" in result.stdout
