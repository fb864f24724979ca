"""The step gpu-operator: what is healthy, each thing that can be wrong with it, and what is unknown."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Reach
from gpustack.ask.view import View
from gpustack.steps.gpu.operator import OPERANDS, STEP, operands
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.cluster import K1, K2
from tests.worlds.snapshots.gpus import (
    add_gpus,
    build_devices,
    build_namespace,
    build_releases,
    build_snapshot,
    edit_answer,
    judge,
    read_answers,
    set_gpus,
)
from tests.worlds.snapshots.judge import find_unknown, judge_check, list_failures

NO_GPUS: Answers = {**build_devices("k1"), **build_devices("k2")}
POLICIES, NODES, SETS = "gpu.cluster-policies", "gpu.nodes", "gpu.daemon-sets"
LOST_ANSWERS: dict[str, set[str]] = {
    "kube.namespaces": {"namespace"},
    "helm.releases": {"chart"},
    POLICIES: {"policy-of-others", "policy"},
    NODES: {"labels", "operands", "allocatable"},
    SETS: {"operands", "host-stack", "driver-containers"},
    "gpu.deployments": {"operands"},
}


def find_failures(*changes: Any, **options: Any) -> dict[str, tuple[str, str]]:
    return list_failures(judge(STEP, *changes, **options))


def load(probe: str, name: str) -> dict[tuple[str, str], Answer]:
    return place_answers(CLUSTER, read_case(probe, name))


def lose_answer(probe: str, location: str = CLUSTER) -> Answers:
    return {(probe, location): replace(make_answer(probe, "", -1), missing_reason="no answer")}


def find_hint(check: str, changes: Answers) -> str:
    mismatch = judge(STEP, changes)[check].result
    assert mismatch
    return mismatch.hint


def test_a_driver_container_gets_the_time_that_its_chart_grants_it() -> None:
    """The chart grants 60 s and 120 times 10 s to pull and to compile (values.yaml, driver.startupProbe)."""
    ubuntu = make_answer("system.os", 'x86_64\nID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n')
    fresh = {(probe, "k2"): read_case(probe, "fresh-debian-12") for probe in ("gpu.packages", "gpu.driver")}
    containers = View(build_snapshot({("system.os", "k2"): ubuntu, **fresh}), CLUSTER)
    assert STEP.compute_settle_seconds(containers) >= 1260
    assert STEP.compute_settle_seconds(View(build_snapshot(), CLUSTER)) == STEP.settle_seconds
    view = View(build_snapshot({**lose_answer("gpu.devices", "k1"), **lose_answer("gpu.devices", "k2")}), CLUSTER)
    assert STEP.compute_settle_seconds(view) == STEP.settle_seconds


def test_the_step_holds_with_two_gpus_on_each_host() -> None:
    assert find_failures() == {}


@pytest.mark.parametrize("names", [(), ("of-others",), ("no-such-kind",), ("no-gpu-nodes",)])
def test_without_gpus_nothing_is_asked_for(names: tuple[str, ...]) -> None:
    """Neither on a cluster that never had an operator nor on one where somebody else has one."""
    empty = load(SETS, "none") | load("gpu.deployments", "none") | load(NODES, "empty")
    bare = {**NO_GPUS, **empty, **load(POLICIES, "none"), ("helm.releases", CLUSTER): make_answer("", '{"items":[]}')}
    policies = {place: answer for name in names for place, answer in load(POLICIES, name).items()}
    assert find_failures({**bare, **build_namespace({}, "Terminating"), **policies}) == {}


def test_a_host_without_gpus_needs_no_operands() -> None:
    """A host without GPUs has no label, no operand and nothing to allocate, and none of that is missed there."""

    def want_one_pod(items: list[Any]) -> None:
        for item in items:
            if item["status"]["desiredNumberScheduled"] == 2:
                item["status"] |= dict.fromkeys(("desiredNumberScheduled", "numberReady", "updatedNumberScheduled"), 1)

    answers = {**build_devices("k1"), **read_answers(NODES, "one-without-gpus"), **edit_answer(SETS, want_one_pod)}
    assert find_failures(answers) == {}
    assert find_failures({**answers, **build_devices("k1", "0000:17:00.0")}).keys() == {
        "labels",
        "operands",
        "allocatable",
    }


@pytest.mark.parametrize(("probe", "checks"), LOST_ANSWERS.items())
def test_lost_answers_are_unknown(probe: str, checks: set[str]) -> None:
    assert find_unknown(judge(STEP, lose_answer(probe))) == checks


def test_who_brings_drivers_is_unknown() -> None:
    assert find_unknown(judge(STEP, lose_answer("system.os", "k2"))) == {"chart"}


def test_a_namespace_that_goes_is_for_a_person() -> None:
    assert find_failures(build_namespace({}, "Terminating")) == {"namespace": ("Terminating", "operator")}
    assert "kubectl get namespace gpu-operator" in find_hint("namespace", build_namespace({}, "Terminating"))


def test_a_namespace_that_refuses_privileged_pods_is_for_the_operator() -> None:
    assert find_failures(build_namespace({}, level="baseline")) == {"namespace": ("baseline", "operator")}
    assert find_failures(build_namespace({}, level="")) == {"namespace": ("unset", "install")}
    assert find_failures({("kube.namespaces", CLUSTER): make_answer("", '{"items":[]}')}) == {}


def test_the_operator_of_somebody_else_is_left_alone() -> None:
    failures = find_failures(load(POLICIES, "of-others"))
    assert failures["policy-of-others"] == ("cluster-policy, second of another release", "operator")
    assert "gpu.stack: host" in find_hint("policy-of-others", load(POLICIES, "of-others"))


def test_what_stands_there_without_an_operator_goes_first() -> None:
    def change_items(items: list[Any]) -> None:
        items.append(deepcopy(items[0]))
        items[-1]["metadata"]["name"] = "gpustack-device-plugin"

    answers = edit_answer(SETS, change_items)
    assert find_failures(answers) == {"host-stack": ("gpustack-device-plugin", "operator")}
    assert "gpu.stack: host" in find_hint("host-stack", answers)
    assert find_failures({**NO_GPUS, **answers}) == {}


def test_a_second_policy_of_ours_is_nobody_else_s() -> None:
    assert find_failures(load(POLICIES, "ignored")) == {}


@pytest.mark.parametrize(
    ("labels", "actual"),
    [
        ({"digest": "0" * 40}, ("different values", "install")),
        ({"digest": ""}, ("not gpustack's, deployed", "operator")),
        ({"gpustack-chart": "v26.3.0"}, ("gpu-operator v26.3.0", "upgrade")),
        ({"status": "failed"}, ("failed", "install")),
        ({"status": "pending-upgrade"}, ("pending-upgrade", "install")),
    ],
)
def test_another_release_is_for_install(labels: dict[str, str], actual: tuple[str, str]) -> None:
    snapshot = build_snapshot()
    release = next(entry for entry in View(snapshot, CLUSTER)[STEP.probes[0]] if entry.name == "gpu-operator")
    assert find_failures(build_releases({}, **({"digest": release.digest} | labels))) == {"chart": actual}


def test_a_missing_release_is_for_install() -> None:
    missing = {("helm.releases", CLUSTER): make_answer("", '{"items":[]}')}
    assert find_failures(missing) == {"chart": ("nothing", "install")}


@pytest.mark.parametrize(
    ("name", "actual"),
    [
        ("not-ready", "notReady, OperandNotReady: ClusterPolicy is not ready, states not ready"),
        ("no-gpu-nodes", "ready, NoGPUNodes: No GPU node found"),
        ("no-nfd-labels", "ready, NFDLabelsMissing: No NFD labels found"),
        ("none", "none"),
        ("no-such-kind", "none"),
    ],
)
def test_a_policy_is_ready_only_where_it_was_reconciled(name: str, actual: str) -> None:
    text, cure = find_failures(load(POLICIES, name)).pop("policy")
    assert text.startswith(actual)
    assert cure == "install"


def test_a_policy_that_the_operator_has_not_read_is_waited_for() -> None:
    assert find_failures(load(POLICIES, "new"))["policy"] == ("no state, no reason", "install")


def test_a_node_without_the_operator_s_label_is_for_install() -> None:
    answers = edit_answer(NODES, lambda items: items[1]["metadata"]["labels"].pop("nvidia.com/gpu.present"))
    assert find_failures(answers) == {"labels": ("k2: no label nvidia.com/gpu.present", "install")}


def test_a_host_that_is_no_node_is_the_matter_of_the_workers() -> None:
    """The others are served."""
    assert find_failures(edit_answer(NODES, lambda items: items.pop(1))) == {}


def test_daemon_sets_that_want_no_pod_for_gpus_are_reported() -> None:
    """Helm and the controllers take such a DaemonSet for done."""
    actual, cure = find_failures(load(SETS, "no-pods-wanted"))["operands"]
    assert all(f"{name} 0 of 2" in actual for name in OPERANDS)
    assert cure == "install"


def test_operands_on_the_way_or_missing_are_named() -> None:
    failures = find_failures(load(SETS, "on-the-way"))
    assert failures["operands"][0] == (
        "gpu-feature-discovery 2 of 2, nvidia-dcgm-exporter 1 of 2, nvidia-device-plugin-daemonset 2 of 2"
    )
    fewer_sets = edit_answer(SETS, lambda items: items.pop(0))
    assert find_failures(fewer_sets)["operands"][0] == "no gpu-feature-discovery"
    assert find_failures(load(SETS, "none"))["operands"][0].startswith(
        "no gpu-feature-discovery, gpu-operator-node-feature"
    )


@pytest.mark.parametrize(
    ("name", "actual", "passing"),
    [
        ("none", "nothing", False),
        ("not-running", "not running", True),
        ("scaled-to-nothing", "scaled to 0", False),
    ],
)
def test_the_operator_itself_runs(name: str, actual: str, *, passing: bool) -> None:
    """An operator that somebody scaled to 0 runs as wanted, by its Deployment; Helm brings it back."""
    mismatch = judge(STEP, load("gpu.deployments", name))["operands"].result
    assert mismatch
    assert (mismatch.actual, mismatch.cure, mismatch.passing) == (actual, "install", passing)


def test_a_gpu_that_was_lost_is_for_a_person() -> None:
    answers = read_answers(NODES, "one-unhealthy")
    assert find_failures(answers) == {"allocatable": ("k1: 1 of 2 unhealthy", "operator")}
    assert "journalctl -k | grep NVRM" in find_hint("allocatable", answers)


def test_a_gpu_lost_while_the_plugin_started_takes_all_of_the_node() -> None:
    assert find_failures(read_answers(NODES, "lost-at-start")) == {"allocatable": ("k1: 0 of 2", "install")}


def test_a_loss_hides_nothing_that_is_still_to_come() -> None:
    def change_items(items: list[Any]) -> None:
        items[1]["status"]["allocatable"]["nvidia.com/gpu"] = "0"
        items[1]["status"]["capacity"]["nvidia.com/gpu"] = "0"

    failures = find_failures(edit_answer(NODES, change_items, "one-unhealthy"))
    assert failures == {"allocatable": ("k1: 1 of 2 unhealthy; k2: 0 of 2", "install")}


def test_how_often_gpus_are_shared_is_another_step_s_matter() -> None:
    """The other step labels the nodes for it when this one is done."""
    hosts = (set_gpus(K1, gpustack_sharing="time-slicing:4"), K2)
    assert find_failures(read_answers(NODES, "time-slicing"), hosts=hosts) == {}
    assert find_failures(hosts=hosts) == {}
    assert find_failures(read_answers(NODES, "time-slicing")) == {}

    def set_allocatable(items: list[Any]) -> None:
        items[0]["status"]["allocatable"]["nvidia.com/gpu"] = "1"

    failures = find_failures(edit_answer(NODES, set_allocatable, "time-slicing"), hosts=hosts)
    assert failures == {"allocatable": ("k1: 1 of 2", "install")}


def test_mig_instances_are_counted_elsewhere() -> None:
    assert find_failures(read_answers(NODES, "mig"), hosts=(set_gpus(K1, gpustack_mig="all-1g.10gb"), K2)) == {}


@pytest.mark.parametrize("probe", ["gpu.devices", "system.identity"])
def test_a_host_that_cannot_tell_takes_no_other_with_it(probe: str) -> None:
    assert find_failures(lose_answer(probe, "k2")) == {}
    ill = edit_answer(NODES, lambda items: items[1]["metadata"]["labels"].clear())
    assert find_failures({**lose_answer(probe, "k2"), **ill}) == {}
    assert set(find_failures({**lose_answer(probe, "k1"), **ill})) == {"labels"}


def test_no_gpus_is_reported_only_where_all_hosts_are_known() -> None:
    """A garbled answer of the only host with GPUs is not a cluster without any."""
    alone = {**build_devices("k1"), **lose_answer("gpu.devices", "k2")}
    assert find_unknown(judge(STEP, alone)) == {check.__name__.replace("_", "-") for check in STEP.checks}
    assert "k2: unknown whether there are GPUs" in judge(STEP, alone)["chart"].reason


def test_a_host_that_was_not_reached_holds_nobody_up() -> None:
    snapshot = build_snapshot({**build_devices("k1")})
    partial_snapshot = replace(snapshot, reach={**snapshot.reach, "k2": Reach("k2", "host-ssh-unreachable")})
    assert {judge_check(check, View(partial_snapshot, CLUSTER)).outcome for check in STEP.checks} == {"ok"}


def test_it_is_for_clusters_with_the_operator() -> None:
    inventory = build_snapshot().inventory
    assert STEP.applies(inventory, K1)
    assert not STEP.applies(build_snapshot(spec={"gpu": {"stack": "host"}}).inventory, K1)


def test_the_operands_are_those_of_a_cluster_that_was_recorded() -> None:
    assert operands(View(build_snapshot(), CLUSTER)) is None
    assert set(OPERANDS) < set(View(build_snapshot(), CLUSTER)[STEP.probes[4]])


def test_gpus_come_to_a_healthy_cluster_without_a_change_of_what_is_there() -> None:
    entry = '{"metadata":{"name":"x.v1","namespace":"m","labels":{"name":"m","version":"1","status":"d"}}}'
    before: Answers = {("helm.releases", CLUSTER): make_answer("", f'{{"items":[{entry}]}}')}
    assert '"x.v1"' in add_gpus(before)["helm.releases", CLUSTER].stdout
