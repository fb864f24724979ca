"""Pods reach each other and the API: one of two may get through, nobody may be there to ask, and one host is to
blame."""

import pytest

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER, Answer
from tests.unit.doctor.checks.evaluation import evaluate, summarize
from tests.unit.doctor.checks.pod_paths import ALL_TARGETS, API, DNS, ENDS, NODE, PEER, THIRD, format_lines, make_paths
from tests.worlds.snapshots import cluster
from tests.worlds.snapshots.answers import make_answer, read_case

PATHS = "pod-network.paths"
LOST_PATHS = dict.fromkeys(("overlay", "bridge", "bridge-large", "pod", "pod-echo", "pod-large"), "timeout")
LARGE = {"bridge-large": "timeout", "pod-large": "timeout"}
THIRD_TARGETS = ("node 10.78.0.13:10250", "echo 10.78.0.13", "pod-echo 10.244.2.9", "pod-large 10.244.2.9")


def judge_at(id: str, location: str = "k1", **answers: Answer) -> Judgement:
    """Judge at a location, with answers by probe; `_` stands for the dot of an id."""
    names = {"ways": PATHS, "flannel": "flannel.host"}
    answers_by_place = {(names[name], location): answer for name, answer in answers.items()}
    return evaluate(id, cluster.build_snapshot(answers_by_place), location)


def test_one_pod_that_gets_through_is_enough() -> None:
    first = make_paths({}, {"service": "timeout"})
    second = first.stdout + "\n".join(["== pod 10.244.0.5", *format_lines({})]) + "\n"
    assert summarize(judge_at("st-api-from-pods-timeout", ways=first)) == ("failed", "10.96.0.1:443: timeout")
    assert judge_at("st-api-from-pods-timeout", ways=make_answer(PATHS, second)).outcome == "ok"


def test_without_a_pod_pods_are_unknown_and_without_an_answer_all_is() -> None:
    judgement = judge_at("st-api-from-pods-timeout", ways=make_paths({"service": "timeout"}))
    assert summarize(judgement) == ("ok", "no pod with its own network on this host")
    for id in ("st-api-from-pods-timeout", "st-pod-net-broken", "mtu-too-large"):
        assert judge_at(id, ways=read_case(PATHS, "no-perl")).outcome == "unknown"


@pytest.mark.parametrize(
    ("results", "outcome"),
    [
        ({}, "ok"),
        (LOST_PATHS, "failed"),
        # A node that is silent itself, and one that takes no connection but answers an echo.
        ({**LOST_PATHS, "node": "timeout", "echo": "timeout"}, "unknown"),
        ({**LOST_PATHS, "node": "timeout"}, "failed"),
        ({**LOST_PATHS, "echo": "timeout"}, "failed"),
        # Somebody drops echoes: connections go through.
        ({**LOST_PATHS, "pod": "ok"}, "ok"),
        ({"pod": "refused", "pod-echo": "timeout"}, "failed"),
        (LARGE, "failed"),
        ({"pod-large": "too-large", "bridge-large": "too-large"}, "ok"),
    ],
)
def test_unreachable_pods_of_another_node_fail(results: dict[str, str], outcome: str) -> None:
    assert judge_at("st-pod-net-broken", ways=make_paths(results, results)).outcome == outcome


def test_a_node_without_known_pods_is_judged_by_its_ends_if_it_answers_echoes() -> None:
    asked_of = (*API, *NODE, *ENDS)
    assert judge_at("st-pod-net-broken", ways=make_paths(LOST_PATHS, LOST_PATHS, kinds=asked_of)).outcome == "failed"
    deaf = {**LOST_PATHS, "echo": "timeout"}
    assert judge_at("st-pod-net-broken", ways=make_paths(deaf, deaf, kinds=asked_of)).outcome == "unknown"


def test_a_single_node_has_nobody_to_lose_packets_to() -> None:
    alone = make_paths({}, {}, peers=(), kinds=(*API, *DNS))
    assert summarize(judge_at("st-pod-net-broken", ways=alone)) == ("ok", "no other node")
    assert judge_at("mtu-too-large", ways=alone).outcome == "ok"


def test_large_packets_are_the_fault_of_the_host_that_gets_them_nowhere() -> None:
    two_peers = make_paths(LARGE, LARGE, peers=(PEER, THIRD), kinds=(*ALL_TARGETS, *THIRD_TARGETS))
    judgement = judge_at("mtu-too-large", ways=two_peers)
    assert judgement.outcome == "failed"
    # A firewall that drops fragments loses large packets as well.
    assert judgement.result
    assert not judgement.result.certain
    partial_paths = {**LARGE, "pod-large 10.244.2.9": "ok"}
    assert (
        judge_at(
            "mtu-too-large",
            ways=make_paths(partial_paths, partial_paths, peers=(PEER, THIRD), kinds=(*ALL_TARGETS, *THIRD_TARGETS)),
        ).outcome
        == "ok"
    )
    assert judge_at("mtu-too-large", ways=make_paths(LOST_PATHS, LOST_PATHS)).outcome == "ok"


@pytest.mark.parametrize(("cause", "outcome"), [("bridge-nf-call-off", "ok"), ("st-pod-net-broken", "failed")])
def test_the_location_of_coredns_decides_the_cause(cause: str, outcome: str) -> None:
    id = f"{cause} -> st-dns-broken"
    assert judge_at(id, ways=make_paths()).outcome == outcome
    assert judge_at(id, ways=make_paths(kinds=(*API, DNS[0]))).outcome == "unknown"


def test_masquerading_decides_whether_the_pod_network_explains_the_api() -> None:
    id = "st-pod-net-broken -> st-api-from-pods-timeout"
    bare = read_case("flannel.host", "worker", ("FLANNEL_IPMASQ=true", "FLANNEL_IPMASQ=false"))
    assert [judge_at(id, "k1").outcome, judge_at(id, "k2").outcome, judge_at(id, "k2", flannel=bare).outcome] == [
        "ok", "ok", "failed",
    ]  # fmt: skip


def test_a_symptom_is_explained_on_the_host_of_its_pod_alone() -> None:
    pods = read_case("monitoring.pods", "two-hosts", ('"host2"', '"k2"'))
    snapshot = cluster.build_snapshot({("monitoring.pods", CLUSTER): pods})
    assert evaluate("st-pod-net-broken -> mon-admission-webhook-down", snapshot, "k1").outcome == "failed"
    assert [evaluate("st-sandbox-fails -> st-no-metrics", snapshot, host).outcome for host in ("k1", "k2")] == [
        "ok", "failed",
    ]  # fmt: skip


def test_dns_that_fails_from_pods_confirms_the_state() -> None:
    def judge_dns(*answers: Answer, api: Answer | None = None) -> Judgement:
        answers_by_place = {(PATHS, host): answer for host, answer in zip(("k1", "k2"), answers, strict=True)}
        extra = {("kube.deployments", CLUSTER): api} if api else {}
        return evaluate("st-dns-broken", cluster.build_snapshot({**answers_by_place, **extra}), CLUSTER)

    well, ill, silent_host = make_paths({}, {}), make_paths({}, {"dns 10.96.0.10": "timeout"}), make_paths({})
    assert summarize(judge_dns(well, well)) == ("ok", "reachable from pods on k1, k2")
    assert summarize(judge_dns(well, ill)) == ("failed", "not from pods on k2: 10.96.0.10: timeout")
    assert summarize(judge_dns(silent_host, silent_host)) == ("ok", "available")
    available = '"type":"Available","status":"True"'
    unavailable_dns = read_case("kube.deployments", "control-plane", (available, available.replace("True", "False")))
    assert judge_dns(silent_host, silent_host, api=unavailable_dns).outcome == "failed"
    assert judge_dns(well, read_case(PATHS, "no-perl")).outcome == "unknown"
    assert judge_dns(ill, read_case(PATHS, "no-perl")).outcome == "failed"


@pytest.mark.parametrize(
    ("mtu", "mtu_of_peer", "certain", "words"),
    [
        ("1500", "1500", False, "(small packets are delivered)"),
        ("9000", "1500", True, "the MTU of eth0 is 9000, and 1500 on k2"),
        ("1500", "1400", True, "eth0 of k2 has an MTU of 1400, and cni0 needs 1500"),
        ("1500", "", False, "(small packets are delivered)"),
    ],
    ids=["alike", "unlike", "too-small", "unknown"],
)
def test_the_mtus_of_the_hosts_prove_a_size(mtu: str, mtu_of_peer: str, *, certain: bool, words: str) -> None:
    answers = {("network.mtus", "k1"): read_case("network.mtus", "vxlan", ("eth0 1500", f"eth0 {mtu}"))}
    if mtu_of_peer:
        answers["network.mtus", "k2"] = read_case("network.mtus", "vxlan", ("eth0 1500", f"eth0 {mtu_of_peer}"))
    paths = {(PATHS, "k1"): make_paths(LARGE, LARGE)}
    result = evaluate("mtu-too-large", cluster.build_snapshot(answers | paths), "k1").result
    assert result
    assert (result.ok, result.certain) == (False, certain)
    assert words in result.actual
