"""A node that rejects pods with GPUs: three new ones are the fault, those of a boot are not."""

import json
from collections.abc import Sequence
from datetime import UTC, timedelta

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubernetes.pod_states import FAILED_PODS
from tests.unit.doctor.checks.evaluation import evaluate, summarize
from tests.worlds.snapshots import gpus
from tests.worlds.snapshots.answers import make_answer, read_case
from tests.worlds.snapshots.build import TAKEN_AT

FAULT = "gpu-node-rejects-pods"
HOUR = 3600
BOOT = 1795230000


def build_pods(ages: Sequence[int], **changes: str) -> Answer:
    """Build pods like the recorded one that were made so many seconds ago on k1."""
    text = read_case(FAILED_PODS.id, "refused").stdout
    for old, new in changes.items():
        text = text.replace(old, new)
    (entry,) = json.loads(text)["items"]
    entry["spec"]["nodeName"] = "k1"
    items = []
    for number, age in enumerate(ages):
        created_at = (TAKEN_AT - timedelta(seconds=age)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        metadata = entry["metadata"] | {"name": f"train-{number}", "creationTimestamp": created_at}
        items.append(entry | {"metadata": metadata})
    return make_answer(FAILED_PODS.id, json.dumps({"items": items}))


def build_units(kubelet_age: int | None) -> Answer:
    """Build the units of a host whose kubelet was started so many seconds ago; without an age, as in old recordings."""
    states = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled"
    unit = f"Id=kubelet.service\n{states}\nActiveEnterTimestamp=@{BOOT}\n"
    return make_answer(UNITS.id, unit if kubelet_age is None else f"{unit}\nNow={BOOT + kubelet_age}\n")


def judge_pods(pods: Answer, kubelet_age: int | None = HOUR, nodes: str = "two-hosts") -> tuple[str, str]:
    answers = {(FAILED_PODS.id, CLUSTER): pods, (UNITS.id, "k1"): build_units(kubelet_age)}
    return summarize(evaluate(FAULT, gpus.build_snapshot(answers | gpus.read_answers("gpu.nodes", nodes)), "k1"))


def test_three_new_pods_are_the_fault_with_the_words_of_the_kubelet() -> None:
    outcome, actual = judge_pods(build_pods([1700, 900, 60]))
    assert outcome == "failed"
    assert actual.startswith(
        "3 pods, such as team/train-2: Pod was rejected: Allocate failed due to no healthy devices"
    )


@pytest.mark.parametrize(
    ("ages", "kubelet_age", "outcome", "actual"),
    [
        ([900, 60], HOUR, "ok", "2"),
        ([2000, 1900, 60], HOUR, "ok", "1"),
        # A boot: the pods were bound to the node before, or while the kubelet started.
        ([600, 500, 400], 450, "ok", "0"),
        ([600, 500, 400], None, "unknown", "it is not known when the kubelet was started"),
        ([], None, "ok", "0"),
    ],
)
def test_fewer_pods_and_those_of_a_boot_are_not(
    ages: list[int], kubelet_age: int | None, outcome: str, actual: str
) -> None:
    assert judge_pods(build_pods(ages), kubelet_age) == (outcome, actual)


def test_pods_that_another_reason_rejected_are_not_the_fault() -> None:
    assert judge_pods(build_pods([300, 200, 100], UnexpectedAdmissionError="OutOfcpu")) == ("ok", "0")


def test_a_node_that_offers_no_gpu_gets_no_pod() -> None:
    assert judge_pods(build_pods([300, 200, 100]), nodes="nothing-allocatable")[0] == "ok"
