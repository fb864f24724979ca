"""The step gpu-sharing: labels by which the device plugin and the MIG manager choose, and what comes of them."""

from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.steps.gpu.sharing import STEP, build_variables
from tests.worlds.snapshots.answers import make_answer
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.cluster import K1, K2
from tests.worlds.snapshots.gpus import build_devices, build_snapshot, edit_answer, judge, read_answers, set_gpus
from tests.worlds.snapshots.judge import find_unknown, list_failures

NODES = "gpu.nodes"
PLUGIN, MIG, STATE = "nvidia.com/device-plugin.config", "nvidia.com/mig.config", "nvidia.com/mig.config.state"
SLICED_HOSTS = (set_gpus(K1, gpustack_sharing="time-slicing:4"), K2)
PARTED_HOSTS = (set_gpus(K1, gpustack_mig="all-1g.10gb"), K2)
LOST_NODES: Answers = {(NODES, CLUSTER): replace(make_answer(NODES, "", -1), missing_reason="no answer")}


def label_node(case: str = "two-hosts", **changes: str) -> Answers:
    """Change labels of k1; an empty one is taken away. Names: plugin, mig, state."""
    names = {"plugin": PLUGIN, "mig": MIG, "state": STATE}

    def change(items: list[Any]) -> None:
        labels = items[0]["metadata"]["labels"]
        labels.update({names[name]: value for name, value in changes.items()})
        for name in [names[name] for name, value in changes.items() if not value]:
            del labels[name]

    return edit_answer(NODES, change, case)


def list_lines(changes: Answers | None = None, hosts: tuple[Host, ...] = (K1, K2), **options: Any) -> list[str]:
    labels: list[str] = build_variables(View(build_snapshot(changes, hosts=hosts, **options), CLUSTER))["labels"]
    return labels


def test_the_step_holds_without_sharing() -> None:
    """The MIG manager says `all-disabled` where nobody wanted a layout: that is its own word for none."""
    assert list_failures(judge(STEP)) == {}
    assert list_failures(judge(STEP, label_node(mig="", state=""))) == {}


def test_without_gpus_there_is_nothing_to_share() -> None:
    without_gpus = {**build_devices("k1"), **build_devices("k2")}
    shared_spec = {"gpu": {"sharing": {"mode": "time-slicing"}}}
    assert list_failures(judge(STEP, without_gpus, spec=shared_spec)) == {}
    assert list_lines(without_gpus, spec=shared_spec) == []


def test_a_host_without_gpus_gets_no_label() -> None:
    shared_spec = {"gpu": {"sharing": {"mode": "mps", "replicas": 2}}}
    mixed_answers = {**build_devices("k1"), **read_answers(NODES, "one-without-gpus")}
    failures = list_failures(judge(STEP, mixed_answers, spec=shared_spec))
    assert failures == {"labels": (f"k2: {PLUGIN}=none instead of mps-2", "install")}
    assert list_lines(mixed_answers, spec=shared_spec) == [f"k2 {PLUGIN} mps-2"]


def test_time_slicing_sets_the_label_of_its_host() -> None:
    assert list_failures(judge(STEP, read_answers(NODES, "time-slicing"), hosts=SLICED_HOSTS)) == {}
    failures = list_failures(judge(STEP, hosts=SLICED_HOSTS))
    assert failures == {"labels": (f"k1: {PLUGIN}=none instead of time-slicing-4", "install")}
    assert list_lines(hosts=SLICED_HOSTS) == [f"k1 {PLUGIN} time-slicing-4", f"k2 {PLUGIN} -"]


@pytest.mark.parametrize(("count", "text"), [("2", "2 of 8"), ("7", "1 of 8 unhealthy"), ("1", "")])
def test_a_node_that_does_not_share_yet_is_waited_for(count: str, text: str) -> None:
    """The step gpu-operator reports a node with fewer than it has GPUs."""

    def set_capacity(items: list[Any]) -> None:
        items[0]["status"]["allocatable"]["nvidia.com/gpu"] = count
        items[0]["status"]["capacity"]["nvidia.com/gpu"] = "8" if count == "7" else count

    failures = list_failures(judge(STEP, edit_answer(NODES, set_capacity, "time-slicing"), hosts=SLICED_HOSTS))
    cure = "operator" if count == "7" else "install"
    assert failures == ({"shares": (f"k1: {text}", cure)} if text else {})


def test_sharing_that_is_no_longer_wanted_is_taken_back() -> None:
    failures = list_failures(judge(STEP, read_answers(NODES, "time-slicing")))
    assert failures == {"labels": (f"k1: {PLUGIN}=time-slicing-4 instead of none", "install")}
    assert list_lines(read_answers(NODES, "time-slicing")) == [f"k1 {PLUGIN} -", f"k2 {PLUGIN} -"]


def test_a_host_s_own_word_counts_more_than_that_of_all() -> None:
    shared_spec = {"gpu": {"sharing": {"mode": "time-slicing", "replicas": 8}}}
    hosts = (set_gpus(K1, gpustack_sharing="none"), K2)
    failures = list_failures(judge(STEP, hosts=hosts, spec=shared_spec))
    assert failures == {"labels": (f"k2: {PLUGIN}=none instead of time-slicing-8", "install")}


def test_a_mig_layout_sets_the_label_of_its_host() -> None:
    assert list_failures(judge(STEP, read_answers(NODES, "mig"), hosts=PARTED_HOSTS)) == {}
    assert list_lines(hosts=PARTED_HOSTS) == [f"k1 {PLUGIN} -", f"k1 {MIG} all-1g.10gb", f"k2 {PLUGIN} -"]
    assert list_failures(judge(STEP, hosts=PARTED_HOSTS)) == {
        "labels": (f"k1: {MIG}=all-disabled instead of all-1g.10gb", "install")
    }


def test_a_layout_that_is_no_longer_wanted_is_taken_back() -> None:
    failures = list_failures(judge(STEP, read_answers(NODES, "mig")))
    assert failures == {"labels": (f"k1: {MIG}=all-1g.10gb instead of none", "install")}
    assert f"k1 {MIG} -" in list_lines(read_answers(NODES, "mig"))


@pytest.mark.parametrize(("state", "text"), [("pending", "pending"), ("failed", "failed"), ("", "nothing")])
def test_a_mig_manager_at_work_is_waited_for(state: str, text: str) -> None:
    answers = label_node("mig", state=state)
    assert list_failures(judge(STEP, answers, hosts=PARTED_HOSTS)) == {"layout": (f"k1: {text}", "install")}
    mismatch = judge(STEP, answers, hosts=PARTED_HOSTS)["layout"].result
    assert mismatch
    assert mismatch.passing
    assert "layout" not in list_failures(judge(STEP, answers)), "nobody asked for one"


def test_a_layout_without_an_instance_is_for_install() -> None:
    def remove_instances(items: list[Any]) -> None:
        items[0]["status"]["allocatable"]["nvidia.com/mig-1g.10gb"] = "0"

    assert list_failures(judge(STEP, edit_answer(NODES, remove_instances, "mig"), hosts=PARTED_HOSTS)) == {
        "slices": ("k1: no MIG instance", "install")
    }


def test_instances_that_are_called_gpus_count() -> None:
    """The strategy `single` calls them nvidia.com/gpu."""

    def count_as_gpus(items: list[Any]) -> None:
        items[0]["status"]["allocatable"] |= {"nvidia.com/mig-1g.10gb": "0", "nvidia.com/gpu": "14"}

    assert list_failures(judge(STEP, edit_answer(NODES, count_as_gpus, "mig"), hosts=PARTED_HOSTS)) == {}


def test_two_labels_that_differ_are_both_reported() -> None:
    actual = list_failures(judge(STEP, label_node("mig", plugin="mps-2")))["labels"][0]
    assert actual == f"k1: {PLUGIN}=mps-2 instead of none, {MIG}=all-1g.10gb instead of none"


def test_lost_answers_are_unknown() -> None:
    assert find_unknown(judge(STEP, LOST_NODES, hosts=PARTED_HOSTS)) == {"labels", "layout", "slices", "shares"}
    alone: Answers = {**build_devices("k1"), ("gpu.devices", "k2"): make_answer("gpu.devices", "?\n")}
    assert find_unknown(judge(STEP, alone)) == {"labels", "layout", "slices", "shares"}


def test_a_host_that_is_no_node_yet_is_left_out() -> None:
    fewer_nodes = edit_answer(NODES, lambda items: items.pop(0))
    assert list_failures(judge(STEP, fewer_nodes, hosts=PARTED_HOSTS)) == {}
    assert list_lines(fewer_nodes, hosts=PARTED_HOSTS) == [f"k2 {PLUGIN} -"]


def test_it_is_for_clusters_with_the_operator() -> None:
    assert STEP.applies(build_snapshot().inventory, K1)
    assert not STEP.applies(build_snapshot(spec={"gpu": {"stack": "host"}}).inventory, K1)
