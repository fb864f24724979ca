"""Pods that wait for an image: whose it is, and what the registry answered."""

import pytest

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER, Answer
from tests.unit.doctor.checks.evaluation import evaluate, summarize
from tests.worlds.snapshots import cluster
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

STATE, LIMITED_PULL, ABSENT = "st-image-pull-fails", "image-pull-rate-limited", "image-registry-down-or-not-found"


def judge_at(id: str, waiting: Answer, location: str = "k2") -> Judgement:
    return evaluate(id, cluster.build_snapshot({("pods.starting", CLUSTER): waiting}), location)


@pytest.mark.parametrize(
    ("case", "faults"),
    [
        ("control-plane", set()),
        # A user's image with a typo, and a pod of ours that waits for something else.
        ("waiting", set()),
        ("rate-limited", {STATE, LIMITED_PULL}),
        ("not-found", {STATE, ABSENT}),
        ("failing", {STATE, ABSENT}),
        ("time-out", {STATE}),
        ("operator-image-gone", {STATE}),
    ],
)
def test_the_answer_of_the_registry_decides_the_fault(case: str, faults: set[str]) -> None:
    answer = read_case("pods.starting", case)
    outcomes = {
        id: judge_at(id, answer, CLUSTER if id == ABSENT else "k2").outcome for id in (STATE, LIMITED_PULL, ABSENT)
    }
    assert {id for id, outcome in outcomes.items() if outcome == "failed"} == faults
    assert set(outcomes.values()) <= {"failed", "ok"}
    assert {judge_at(id, answer, "k1").outcome for id in (STATE, LIMITED_PULL)} == {"ok"}


def test_a_registry_that_refuses_connections_is_down_and_a_proxy_that_does_is_none() -> None:
    words = "dial tcp 140.82.121.33:443: i/o timeout"
    unreachable_mirror = read_case(
        "pods.starting", "time-out", (words, "dial tcp 10.0.0.9:5000: connect: connection refused")
    )
    assert judge_at(ABSENT, unreachable_mirror, CLUSTER).outcome == "failed"
    proxy = "proxyconnect tcp: dial tcp 10.0.0.9:3128: connect: connection refused"
    assert judge_at(ABSENT, read_case("pods.starting", "time-out", (words, proxy)), CLUSTER).outcome == "ok"


def test_without_an_answer_all_is_unknown() -> None:
    lost_answer = Answer("pods.starting", CLUSTER, -1, "", missing_reason="no API")
    assert {judge_at(id, lost_answer).outcome for id in (STATE, LIMITED_PULL)} == {"unknown"}
    assert judge_at(ABSENT, lost_answer, CLUSTER).outcome == "unknown"


WORKING_PROXY, REFUSING_PROXY = "0 0.000538 ", "56 0.000538 CONNECT tunnel failed, response 403"


@pytest.mark.parametrize(
    ("daemon", "pulls", "source", "outcome", "actual"),
    [
        ("none", "time-out", WORKING_PROXY, "failed", "none; kube-flannel/p cannot pull"),
        ("other", "time-out", WORKING_PROXY, "failed", "a different one; kube-flannel/p"),
        ("same", "time-out", WORKING_PROXY, "ok", "that of the spec"),
        # An install that failed before containerd was configured.
        ("none", "control-plane", REFUSING_PROXY, "ok", "no pull fails for it"),
        ("none", "failing", WORKING_PROXY, "ok", "no pull fails for it"),
        ("none", "time-out", REFUSING_PROXY, "unknown", "response 403"),
    ],
)
def test_a_missing_proxy_is_a_cause_of_pulls_that_fail_without_it(
    daemon: str, pulls: str, source: str, outcome: str, actual: str
) -> None:
    answers = {("pods.starting", CLUSTER): read_case("pods.starting", pulls)}
    answers |= place_answers(
        "k2",
        make_answer("egress.daemons", f"containerd {daemon}\nkubelet same\n"),
        make_answer("reach.source", f"https://pkgs.k8s.io/ {source}\n"),
    )
    snapshot = cluster.build_snapshot(answers, {"proxy": {"http": "http://10.0.0.9:3128"}})
    judgement = evaluate("containerd-proxy-missing", snapshot, "k2")
    assert judgement.outcome == outcome
    assert actual in summarize(judgement)[1]


@pytest.mark.parametrize(
    ("effect", "image"),
    [
        ("st-dns-broken", "registry.k8s.io/coredns/coredns"),
        ("op-nodes-not-labelled", "x.io/nfd/node-feature-discovery"),
    ],
)
def test_an_image_explains_the_symptom_of_its_pod_alone(effect: str, image: str) -> None:
    id = f"st-image-pull-fails -> {effect}"
    foreign_image = read_case("pods.starting", "time-out", ("ghcr.io/flannel-io/flannel", image))
    assert [judge_at(id, foreign_image).outcome, judge_at(id, read_case("pods.starting", "time-out")).outcome] == [
        "failed",
        "ok",
    ]
