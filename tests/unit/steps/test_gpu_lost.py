"""GPUs that a node does not offer because its device plugin could not start: the driver says why."""

from dataclasses import replace

from gpustack.ask.probe import CLUSTER
from gpustack.steps.gpu.operator import STEP
from gpustack.steps.gpu.plugin import STEP as PLUGIN_STEP
from gpustack.steps.gpu.runtime import STEP as RUNTIME_STEP
from tests.worlds.snapshots.answers import make_answer, make_list, place_answers
from tests.worlds.snapshots.gpus import edit_answer, judge, read_answers
from tests.worlds.snapshots.host_stack import PRESENT, add_toolkit, build_node, build_snapshot
from tests.worlds.snapshots.hosts import H1, H2
from tests.worlds.snapshots.hosts import judge as judge_host
from tests.worlds.snapshots.judge import judge_checks, list_failures

NODES = "gpu.nodes"


def test_a_gpu_that_was_lost_as_the_plugin_started_is_for_a_person() -> None:
    """The plugin ends, all of the node's GPUs go, and only the driver says why: nothing is waited for."""
    smi = place_answers(
        "k1",
        make_answer("gpu.smi", "Unable to determine the device handle for GPU1: 0000:1F:00.0: GPU is lost\nrc 15\n"),
    )
    actual, cure = list_failures(judge(STEP, {**read_answers(NODES, "lost-at-start"), **smi}))["allocatable"]
    assert "0 of 2, nvidia-smi: a GPU has fallen off the bus" in actual
    assert cure == "operator"
    mismatch = judge(STEP, {**read_answers(NODES, "lost-at-start"), **smi})["allocatable"].result
    assert mismatch
    assert "gpu-driver/answers" in mismatch.hint


def test_a_driver_that_shows_fewer_gpus_than_the_bus_has_is_named() -> None:
    smi = place_answers("k1", make_answer("gpu.smi", "00000000:17:00.0\nrc 0\n"))
    actual, cure = list_failures(judge(STEP, {**read_answers(NODES, "lost-at-start"), **smi}))["allocatable"]
    assert ("shows 1 of 2 GPUs" in actual, cure) == (True, "operator")


def test_a_plugin_that_is_not_there_yet_is_waited_for() -> None:
    assert list_failures(judge(STEP, read_answers(NODES, "lost-at-start")))["allocatable"][1] == "install"


def test_the_discovery_of_features_is_one_of_the_operands() -> None:
    """A new node with GPUs would never be known without it; labels that are there stay, and hide it."""
    key = ("gpu.daemon-sets", CLUSTER)
    answer = next(iter(read_answers(key[0]).values()))
    lost_worker = replace(answer, stdout=answer.stdout.replace("gpu-operator-node-feature-discovery-worker", "other"))
    assert list_failures(judge(STEP, {key: lost_worker}))["operands"] == (
        "no gpu-operator-node-feature-discovery-worker",
        "install",
    )


def test_devices_of_a_plugin_that_is_gone_are_not_ill() -> None:
    """The kubelet counts them for minutes, as capacity that nobody may have; bringing the plugin back resolves it."""
    changed_nodes = edit_answer(
        NODES, lambda items: [item["status"]["allocatable"].update({"nvidia.com/gpu": "0"}) for item in items]
    )
    idle = dict.fromkeys(
        ("desiredNumberScheduled", "numberReady", "updatedNumberScheduled", "currentNumberScheduled"), 0
    )
    idle_sets = edit_answer("gpu.daemon-sets", lambda items: [item["status"].update(idle) for item in items])
    assert list_failures(judge(STEP, {**changed_nodes, **idle_sets}))["allocatable"][1] == "install"
    assert list_failures(judge(STEP, changed_nodes))["allocatable"][1] == "operator"


def test_a_label_goes_where_no_host_has_a_gpu_any_more() -> None:
    nodes = place_answers(CLUSTER, make_list(NODES, [build_node("k1", labels=PRESENT)]))
    snapshot = build_snapshot({}, {**nodes, **place_answers("k1", make_answer("gpu.devices", ""))})
    failures = list_failures(judge_checks(PLUGIN_STEP, snapshot, CLUSTER))
    assert failures == {"labels": ("k1: labelled, but without GPUs", "install")}


def test_a_bus_without_the_gpus_of_the_inventory_lacks_their_devices() -> None:
    """The other checks of the toolkit have no GPU to speak of."""
    answers = {**add_toolkit(), **place_answers("h1", make_answer("gpu.devices", ""))}
    host = replace(H1, spec=H1.spec.model_copy(update={"gpustack_gpus": 4}))
    judgements = judge_host(RUNTIME_STEP, answers, {"gpu": {"stack": "host"}}, hosts=(host, H2))
    assert list(list_failures(judgements)) == ["devices"]
