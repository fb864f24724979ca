"""What a pod says, as the API has it: what it waits for, why it failed, which GPU it met."""

from typing import Any

import pytest

from gpustack.proof.workload import ASKED, HELD, KERNEL, NODE, PodResult, VisibleGpu, judge_pod, normalize_bus

PASSED = "[Vector addition of 50000 elements]\nCopy output data from the CUDA device to the host memory\nTest PASSED\n"
LINE = "GPU-5cb66dbb-38fa-edb4-6a36-7c2f0e2c2a9d, 00000000:65:00.0, NVIDIA H100 80GB HBM3\n"
LOGS = {KERNEL: PASSED, ASKED: LINE}
VISIBLE = VisibleGpu("GPU-5cb66dbb-38fa-edb4-6a36-7c2f0e2c2a9d", "0000:65:00.0", "NVIDIA H100 80GB HBM3")
DONE: dict[str, Any] = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def pod(status: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "proof-1", "annotations": {NODE: "gpu1"}}, "status": status}


def statuses(kernel: dict[str, Any], asked: dict[str, Any], held: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "initContainerStatuses": [{"name": KERNEL, "state": kernel}, {"name": ASKED, "state": asked}],
        "containerStatuses": [{"name": HELD, "state": held}],
        **more,
    }


HOLDING = pod(statuses(DONE, DONE, {"running": {}}, phase="Running"))
WAITS = {"waiting": {"reason": "PodInitializing"}}


def scheduled(message: str) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return pod({"phase": "Pending", "conditions": [condition]})


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return pod(statuses({"waiting": {"reason": reason, "message": message}}, WAITS, WAITS, phase="Pending"))


def ended(code: int, message: str = "", reason: str = "Error") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


@pytest.mark.parametrize(
    ("found", "stage", "why"),
    [
        (pod({"phase": "Pending"}), "waiting", ""),
        (scheduled("0/2 nodes: Insufficient nvidia.com/gpu."), "waiting", "Unschedulable: 0/2 nodes: Insufficient"),
        (waiting("ContainerCreating"), "waiting", ""),
        (waiting("ErrImagePull", "not found"), "waiting", "ErrImagePull: not found"),
        (waiting("ImagePullBackOff", "Back-off\n pulling"), "stuck", "ImagePullBackOff: Back-off pulling"),
        (
            pod({"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no healthy devices present"}),
            "failed",
            "UnexpectedAdmissionError: no healthy devices",
        ),
        (pod({"phase": "Failed", "reason": "Evicted", "message": "disk"}), "stuck", "Evicted: disk"),
        (
            pod(statuses(ended(1, "the provided PTX\n was compiled"), WAITS, WAITS, phase="Failed")),
            "failed",
            "kernel ended with 1: Error: the provided PTX was",
        ),
        (
            pod(statuses(ended(128, "unresolvable CDI devices", "StartError"), WAITS, WAITS, phase="Failed")),
            "failed",
            "kernel ended with 128: StartError: unresolvable CDI",
        ),
        (pod(statuses(DONE, ended(9), WAITS, phase="Failed")), "failed", "uuid ended with 9"),
        (pod(statuses(DONE, DONE, ended(0, "", "Completed"), phase="Succeeded")), "failed", "held ended with 0"),
    ],
)
def test_what_it_waits_for_or_failed_at(found: dict[str, Any], stage: str, why: str) -> None:
    result = judge_pod(found, {})
    assert (result.pod, result.node, result.stage, result.visible) == ("proof-1", "gpu1", stage, ())
    assert result.reason.startswith(why)
    assert bool(result.reason) == bool(why)


def test_the_kubelet_s_warning_is_reported_where_the_pod_has_no_reason() -> None:
    assert judge_pod(pod({"phase": "Pending"}), {}, "FailedCreatePodSandBox: no network").reason.startswith(
        "FailedCreate"
    )


def test_it_ran_and_names_its_gpu() -> None:
    assert judge_pod(HOLDING, LOGS) == PodResult("proof-1", "gpu1", "held", "", True, (VISIBLE,))


@pytest.mark.parametrize(
    ("logs", "ran", "why"),
    [
        ({}, None, "its output could not be read"),
        ({ASKED: LINE}, None, "its output could not be read"),
        ({KERNEL: "Test FAILED\n", ASKED: LINE}, False, "vectorAdd did not say that it passed: Test FAILED"),
        ({KERNEL: "", ASKED: LINE}, False, "vectorAdd did not say that it passed: nothing"),
        ({KERNEL: PASSED, ASKED: "No devices were found\n"}, None, "nvidia-smi named no GPU: No devices were found"),
        ({KERNEL: PASSED, ASKED: LINE * 2}, False, "the pod asked for one GPU and sees 2"),
    ],
)
def test_what_it_printed_counts(logs: dict[str, str], ran: bool | None, why: str) -> None:
    result = judge_pod(HOLDING, logs)
    assert (result.stage, result.ran, result.reason) == ("held", ran, why)


@pytest.mark.parametrize(
    ("text", "same"),
    [("00000000:65:00.0", "0000:65:00.0"), ("0000:CA:00.0", "0000:ca:00.0"), ("", ""), ("[N/A]", "")],
)
def test_a_pci_address_has_one_form(text: str, same: str) -> None:
    assert normalize_bus(text) == same
