"""Pods that wait: of the platform, of users, and for what."""

from collections.abc import Mapping

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from tests.unit.doctor.checks.evaluation import judge_cluster
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

NO_GPU = make_answer("gpu.nodes", '{"items":[]}')
A_GPU = make_answer("gpu.devices", "0000:17:00.0 0x2330\n")


def judge_at(id: str, answers: Mapping[tuple[str, str], Answer], location: str = CLUSTER) -> tuple[str, str]:
    return judge_cluster(id, {("gpu.nodes", CLUSTER): NO_GPU} | dict(answers), location)


@pytest.mark.parametrize(
    ("case", "pending", "short", "guard", "gpu"),
    [
        ("control-plane", "ok", "ok", "ok", "ok"),
        ("memory", "failed", "failed", "failed", "ok"),
        ("tainted", "failed", "ok", "ok", "ok"),
        ("of-a-user", "ok", "ok", "ok", "failed"),
        ("platform-gpu", "failed", "failed", "ok", "failed"),
        ("cordoned", "ok", "ok", "ok", "ok"),
        ("just-now", "ok", "ok", "ok", "ok"),
        ("refused", "unknown", "unknown", "unknown", "unknown"),
    ],
)
def test_pending_pods_are_judged_by_the_scheduler_s_message(
    case: str, pending: str, short: str, guard: str, gpu: str
) -> None:
    """Requests of users are theirs; their GPU pods only show that no GPU is on offer."""
    answers = {
        ("kube.unscheduled-pods", CLUSTER): read_case("kube.unscheduled-pods", case),
        ("gpu.devices", "k2"): A_GPU,
    }
    ids = ("st-pods-pending", "insufficient-resources", "insufficient-resources guard", "st-gpu-pods-pending")
    assert tuple(judge_at(id, answers)[0] for id in ids) == (pending, short, guard, gpu)


def test_a_gpu_pod_where_no_host_has_a_gpu_is_its_authors() -> None:
    waits = place_answers(CLUSTER, read_case("kube.unscheduled-pods", "of-a-user"))
    id = "st-gpu-pods-pending"
    assert judge_at(id, waits) == ("ok", "no host has a GPU")
    assert judge_at(id, waits | place_answers("k2", make_answer("gpu.devices", "odd\n")))[0] == "failed"


def test_gpus_in_use_explain_pending_gpu_pods() -> None:
    answers = place_answers(
        CLUSTER, read_case("kube.unscheduled-pods", "platform-gpu"), read_case("gpu.nodes", "two-hosts")
    )
    assert judge_at("insufficient-resources guard", answers)[0] == "failed"
    assert judge_at("st-gpu-pods-pending", answers)[0] == "ok"


def test_pending_pods_explain_what_depends_on_them() -> None:
    prometheus = place_answers(CLUSTER, read_case("kube.unscheduled-pods", "memory"))
    labeller = place_answers(CLUSTER, read_case("kube.unscheduled-pods", "tainted"))
    assert judge_at("st-pods-pending -> st-no-metrics", prometheus)[0] == "failed"
    assert judge_at("st-pods-pending -> st-no-metrics", labeller)[0] == "ok"
    assert judge_at("st-pods-pending -> op-nodes-not-labelled", labeller)[0] == "failed"
    assert judge_at("st-pods-pending -> op-nodes-not-labelled", prometheus)[0] == "ok"


@pytest.mark.parametrize("everywhere", [True, False])
def test_an_unnamed_taint_fails_where_all_nodes_have_it(everywhere: bool) -> None:
    """Newer schedulers do not say which taint: it is the cluster's where all nodes are control planes."""
    words_of_taint = ("taint {node-role.kubernetes.io/control-plane: }", "taint(s)")
    answers = place_answers(CLUSTER, read_case("kube.unscheduled-pods", "tainted", words_of_taint))
    if everywhere:
        bare = '"name":"k2"},"spec":{"podCIDR":"10.244.1.0/24"}'
        taint = '"taints":[{"effect":"NoSchedule","key":"node-role.kubernetes.io/control-plane"}]'
        nodes = read_case("kube.nodes", "control-plane", (bare, f"{bare[:-1]},{taint}}}"))
        answers |= {("kube.nodes", CLUSTER): nodes}
    assert judge_at("st-pods-pending", answers)[0] == ("failed" if everywhere else "ok")


@pytest.mark.parametrize(
    ("taint", "outcome"),
    [
        ("node-role.kubernetes.io/control-plane", "ok"),
        ("node.kubernetes.io/unschedulable", "ok"),
        ("node.kubernetes.io/disk-pressure", "failed"),
        ("gpu-team", "ok"),
    ],
)
def test_a_taint_of_a_condition_fails(taint: str, outcome: str) -> None:
    nodes = read_case("kube.nodes", "control-plane", ("node-role.kubernetes.io/control-plane", taint))
    assert judge_at("node-lifecycle-taints", {("kube.nodes", CLUSTER): nodes}, "k1")[0] == outcome


def test_a_cordoned_node_names_the_pods_that_wait_for_it() -> None:
    taints = ("node-role.kubernetes.io/control-plane", "node.kubernetes.io/unschedulable")
    nodes = place_answers(CLUSTER, read_case("kube.nodes", "control-plane", taints))
    waits = place_answers(CLUSTER, read_case("kube.unscheduled-pods", "cordoned"))
    assert judge_at("node-cordoned", nodes, "k1") == ("failed", "k1 is cordoned")
    judgement = judge_at("node-cordoned", nodes | waits, "k1")
    assert judgement == ("failed", "k1 is cordoned; kube-system/coredns-1 waits for a node")
    assert judge_at("node-cordoned", nodes | waits, "k2") == ("ok", "schedulable")


def judge_quotas(*edits: tuple[str, str]) -> tuple[str, str]:
    quotas, refusals = read_case("gpu.quotas", "teams", *edits), read_case("gpu.quota-refusals", "teams")
    return judge_at("gpu-quota-exceeded", place_answers(CLUSTER, quotas, refusals))


def test_pods_that_a_quota_refuses_are_named_with_what_is_left() -> None:
    texts = (
        "namespace team-a: quota gpus has 0 of 0 nvidia.com/gpu left, and ReplicaSet/serve-56888c59fc requests 1",
        "namespace team-b: quota gpus has 1 of 2 nvidia.com/gpu left, and Job/train requests 2",
    )
    outcome, actual = judge_quotas()
    assert (outcome, sorted(actual.split("; "))) == ("failed", sorted(texts))


def test_a_quota_that_was_raised_refuses_nothing_any_more() -> None:
    larger_quota = ('"hard":{"requests.nvidia.com/gpu":"0"}', '"hard":{"requests.nvidia.com/gpu":"8"}')
    outcome, actual = judge_quotas(larger_quota)
    assert (outcome, "team-a" in actual) == ("failed", False)


def test_pods_that_no_quota_refuses_are_no_finding() -> None:
    assert judge_at("gpu-quota-exceeded", {}) == ("ok", "none")


@pytest.mark.parametrize("probe", ["gpu.quotas", "gpu.quota-refusals"])
def test_unreadable_quotas_leave_refusals_unknown(probe: str) -> None:
    answers = place_answers(CLUSTER, read_case("gpu.quotas", "teams"), read_case("gpu.quota-refusals", "teams"))
    refusal = place_answers(CLUSTER, make_answer(probe, "", rc=1))
    assert judge_at("gpu-quota-exceeded", answers | refusal)[0] == "unknown"
