"""What a pod says, as the API has it: what it waits for, why it failed, which GPU it met."""

from typing import Any

import pytest

from gpustack.proof.workload import ASKED, HELD, KERNEL, PodResult, VisibleGpu, judge_output, judge_pod, normalize_bus

PASSED = "[Vector addition of 50000 elements]\nCopy output data from the CUDA device to the host memory\nTest PASSED\n"
LINE = "GPU-5cb66dbb-38fa-edb4-6a36-7c2f0e2c2a9d, 00000000:65:00.0, NVIDIA H100 80GB HBM3\n"
POD = PodResult("proof-1", "gpu1")
VISIBLE = VisibleGpu("GPU-5cb66dbb-38fa-edb4-6a36-7c2f0e2c2a9d", "0000:65:00.0", "NVIDIA H100 80GB HBM3")
DONE: dict[str, Any] = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def pod(status: dict[str, Any]) -> dict[str, Any]:
    return {"status": status}


def statuses(kernel: dict[str, Any], asked: dict[str, Any], held: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "initContainerStatuses": [{"name": KERNEL, "state": kernel}, {"name": ASKED, "state": asked}],
        "containerStatuses": [{"name": HELD, "state": held}],
        **more,
    }


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
            "ended",
            "UnexpectedAdmissionError: no healthy devices",
        ),
        (pod({"phase": "Failed", "reason": "Evicted", "message": "disk"}), "stuck", "Evicted: disk"),
        (
            pod(statuses(ended(1, "the provided PTX\n was compiled"), WAITS, WAITS, phase="Failed")),
            "ended",
            "kernel ended with 1: Error: the provided PTX was",
        ),
        (
            pod(statuses(ended(128, "unresolvable CDI devices", "StartError"), WAITS, WAITS, phase="Failed")),
            "ended",
            "kernel ended with 128: StartError: unresolvable CDI",
        ),
        (pod(statuses(DONE, ended(9), WAITS, phase="Failed")), "ended", "uuid ended with 9"),
        (pod(statuses(DONE, DONE, ended(0, "", "Completed"), phase="Succeeded")), "ended", "held ended with 0"),
        (pod(statuses(DONE, DONE, {"running": {}}, phase="Running")), "running", ""),
        (pod(statuses(DONE, DONE, ended(137, "", "OOMKilled"))), "ended", "held was ended by signal 9: OOMKilled"),
        (
            pod(statuses(DONE, DONE, ended(137), phase="Failed", reason="DeadlineExceeded")),
            "ended",
            "DeadlineExceeded: held was ended by signal 9: Error",
        ),
    ],
)
def test_what_it_waits_for_or_failed_at(found: dict[str, Any], stage: str, why: str) -> None:
    result = judge_pod(POD, found)
    assert (result.name, result.node, result.stage, result.gpus) == ("proof-1", "gpu1", stage, ())
    assert result.reason.startswith(why)
    assert bool(result.reason) == bool(why)


@pytest.mark.parametrize(("found", "code"), [(ended(0), 0), (ended(244), 244), (ended(137), None), (ended(143), None)])
def test_a_container_that_was_killed_has_no_exit_status(found: dict[str, Any], code: int | None) -> None:
    assert judge_pod(POD, pod({"containerStatuses": [{"name": "load", "state": found}]})).code == code


def test_it_ran_and_names_its_gpu() -> None:
    assert judge_output(POD, PASSED, LINE) == PodResult("proof-1", "gpu1", "held", "", True, (VISIBLE,))


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
    result = judge_output(POD, logs.get(KERNEL), logs.get(ASKED))
    assert (result.stage, result.ran, result.reason) == ("held", ran, why)


@pytest.mark.parametrize(
    ("text", "same"),
    [("00000000:65:00.0", "0000:65:00.0"), ("0000:CA:00.0", "0000:ca:00.0"), ("", ""), ("[N/A]", "")],
)
def test_a_pci_address_has_one_form(text: str, same: str) -> None:
    assert normalize_bus(text) == same
