"""States of the API, the kubelets and the nodes, on a recorded cluster."""

from collections.abc import Mapping

import pytest

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER, Answer
from tests.unit.doctor.checks.evaluation import evaluate, summarize
from tests.worlds.snapshots import cluster
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.cluster import ABSENT, K1, build_units


def judge_at(id: str, location: str, answers: Mapping[tuple[str, str], Answer]) -> Judgement:
    member = place_answers("k1", read_case("leftovers.kubernetes", "worker-of-ours"))
    return evaluate(id, cluster.build_snapshot(member | dict(answers)), location)


@pytest.mark.parametrize(
    ("id", "location"), [("st-apiserver-down", CLUSTER), ("st-kubelet-down", "k1"), ("st-node-notready", "k2")]
)
def test_a_healthy_cluster_passes(id: str, location: str) -> None:
    assert judge_at(id, location, {}).outcome == "ok"


def test_an_api_server_that_refuses_is_down_and_one_that_nobody_can_ask_is_unknown() -> None:
    refused_answer = Answer("kube.readyz", CLUSTER, 7, "", "curl: (7) Failed to connect to 10.78.0.11 port 6443")
    assert summarize(judge_at("st-apiserver-down", CLUSTER, {("kube.readyz", CLUSTER): refused_answer}))[0] == "failed"
    lost_answer = Answer("kube.readyz", CLUSTER, -1, "", missing_reason="no control plane could be asked")
    assert summarize(judge_at("st-apiserver-down", CLUSTER, {("kube.readyz", CLUSTER): lost_answer}))[0] == "unknown"


def test_a_kubelet_that_is_not_installed_is_not_down() -> None:
    silent = Answer("kubelet.health", "k1", 7, "")
    assert summarize(judge_at("st-kubelet-down", "k1", {("kubelet.health", "k1"): silent})) == ("failed", "silent")
    without_kubelet = {("kubelet.health", "k1"): silent, ("units.services", "k1"): build_units(ABSENT)}
    assert summarize(judge_at("st-kubelet-down", "k1", without_kubelet)) == ("ok", "not installed")


def test_a_kubelet_without_a_cluster_cannot_run_yet() -> None:
    bare = read_case("leftovers.kubernetes", "fresh-debian-12")
    answers = {("kubelet.health", "k1"): Answer("kubelet.health", "k1", 7, ""), ("leftovers.kubernetes", "k1"): bare}
    assert summarize(judge_at("st-kubelet-down", "k1", answers)) == ("ok", "the host is not in a cluster yet")


def test_a_node_that_is_not_ready_says_why() -> None:
    sick = read_case("kube.nodes", "control-plane", ('"status":"True"', '"status":"False"'))
    outcome, actual = summarize(judge_at("st-node-notready", "k1", {("kube.nodes", CLUSTER): sick}))
    assert outcome == "failed"
    assert actual
    stranger = place_answers("k1", make_answer("system.identity", "0123456789abcdef0123456789abcdef\n\n"))
    assert summarize(judge_at("st-node-notready", "k1", stranger)) == ("ok", "the host is not a node")


def test_a_node_that_is_no_host_fails() -> None:
    """The node may be a host that could not be asked."""
    judgement = evaluate("node-not-in-inventory", cluster.build_snapshot({}, {}, (K1,)), CLUSTER)
    assert (judgement.outcome, judgement.result and judgement.result.actual) == ("failed", "k2")
    assert evaluate("node-not-in-inventory", cluster.build_snapshot(), CLUSTER).outcome == "ok"
    lost_identity = {
        ("system.identity", "k2"): Answer("system.identity", "k2", -1, "", missing_reason="k2 was not reached")
    }
    assert evaluate("node-not-in-inventory", cluster.build_snapshot(lost_identity), CLUSTER).outcome == "unknown"
