"""Pods that wait for an image: whose it is, and what the registry answered."""

import pytest

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER, Answer
from tests.unit.doctor.checks.evaluation import evaluate
from tests.worlds.snapshots import cluster
from tests.worlds.snapshots.answers import read_case

STATE, LIMITED, ABSENT = "st-image-pull-fails", "image-pull-rate-limited", "image-registry-down-or-not-found"


def here(id: str, waiting: Answer, where: str = "k2") -> Judgement:
    return evaluate(id, cluster.snapshot({("pods.starting", CLUSTER): waiting}), where)


@pytest.mark.parametrize(
    ("case", "confirmed"),
    [
        ("control-plane", set()),
        # A user's image with a typo, and a pod of ours that waits for something else.
        ("waiting", set()),
        ("rate-limited", {STATE, LIMITED}),
        ("not-found", {STATE, ABSENT}),
        ("failing", {STATE, ABSENT}),
        ("time-out", {STATE}),
        ("operator-image-gone", {STATE}),
    ],
)
def test_what_the_registry_answered(case: str, confirmed: set[str]) -> None:
    answer = read_case("pods.starting", case)
    found = {id: here(id, answer, CLUSTER if id == ABSENT else "k2").outcome for id in (STATE, LIMITED, ABSENT)}
    assert {id for id, outcome in found.items() if outcome == "failed"} == confirmed
    assert set(found.values()) <= {"failed", "ok"}
    assert {here(id, answer, "k1").outcome for id in (STATE, LIMITED)} == {"ok"}


def test_a_registry_that_refuses_connections_is_down_and_a_proxy_that_does_is_none() -> None:
    words = "dial tcp 140.82.121.33:443: i/o timeout"
    down = read_case("pods.starting", "time-out", (words, "dial tcp 10.0.0.9:5000: connect: connection refused"))
    assert here(ABSENT, down, CLUSTER).outcome == "failed"
    proxy = "proxyconnect tcp: dial tcp 10.0.0.9:3128: connect: connection refused"
    assert here(ABSENT, read_case("pods.starting", "time-out", (words, proxy)), CLUSTER).outcome == "ok"


def test_without_an_answer_all_is_unknown() -> None:
    lost = Answer("pods.starting", CLUSTER, -1, "", missing_reason="no API")
    assert {here(id, lost).outcome for id in (STATE, LIMITED)} == {"unknown"}
    assert here(ABSENT, lost, CLUSTER).outcome == "unknown"


@pytest.mark.parametrize(
    ("effect", "image"),
    [
        ("st-dns-broken", "registry.k8s.io/coredns/coredns"),
        ("op-nodes-not-labelled", "x.io/nfd/node-feature-discovery"),
    ],
)
def test_whose_image_it_is(effect: str, image: str) -> None:
    id = f"st-image-pull-fails -> {effect}"
    theirs = read_case("pods.starting", "time-out", ("ghcr.io/flannel-io/flannel", image))
    assert [here(id, theirs).outcome, here(id, read_case("pods.starting", "time-out")).outcome] == [
        "failed",
        "ok",
    ]
