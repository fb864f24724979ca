"""A pod's status, as the API has it, tells what it waits for, why it failed, and which GPU it met."""

from typing import Any

import pytest

from gpustack.probes.kubernetes.taints import CORDON
from gpustack.proof.workload import (
    HOLD,
    KERNEL,
    UUID_QUERY,
    PodResult,
    VisibleGpu,
    build_proof_pod,
    judge_output,
    judge_pod,
    normalize_bus,
)

PASSED_OUTPUT = (
    "[Vector addition of 50000 elements]\nCopy output data from the CUDA device to the host memory\nTest PASSED\n"
)
LINE = "GPU-5cb66dbb-38fa-edb4-6a36-7c2f0e2c2a9d, 00000000:65:00.0, NVIDIA H100 80GB HBM3\n"
POD = PodResult("proof-1", "gpu1")
VISIBLE = VisibleGpu("GPU-5cb66dbb-38fa-edb4-6a36-7c2f0e2c2a9d", "0000:65:00.0", "NVIDIA H100 80GB HBM3")
DONE_STATE: dict[str, Any] = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def build_pod(status: dict[str, Any]) -> dict[str, Any]:
    return {"status": status}


def build_statuses(
    kernel: dict[str, Any], second_init: dict[str, Any], main: dict[str, Any], **fields: Any
) -> dict[str, Any]:
    return {
        "initContainerStatuses": [{"name": KERNEL, "state": kernel}, {"name": UUID_QUERY, "state": second_init}],
        "containerStatuses": [{"name": HOLD, "state": main}],
        **fields,
    }


WAITS = {"waiting": {"reason": "PodInitializing"}}


def build_scheduled(message: str) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return build_pod({"phase": "Pending", "conditions": [condition]})


def build_waiting(reason: str, message: str = "") -> dict[str, Any]:
    return build_pod(build_statuses({"waiting": {"reason": reason, "message": message}}, WAITS, WAITS, phase="Pending"))


def build_ended(code: int, message: str = "", reason: str = "Error") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


@pytest.mark.parametrize(
    ("pod_status", "stage", "reason"),
    [
        (build_pod({"phase": "Pending"}), "waiting", ""),
        (
            build_scheduled("0/2 nodes: Insufficient nvidia.com/gpu."),
            "waiting",
            "Unschedulable: 0/2 nodes: Insufficient",
        ),
        (build_waiting("ContainerCreating"), "waiting", ""),
        (build_waiting("ErrImagePull", "not found"), "waiting", "ErrImagePull: not found"),
        (build_waiting("ImagePullBackOff", "Back-off\n pulling"), "stuck", "ImagePullBackOff: Back-off pulling"),
        (
            build_pod(
                {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no healthy devices present"}
            ),
            "ended",
            "UnexpectedAdmissionError: no healthy devices",
        ),
        (build_pod({"phase": "Failed", "reason": "Evicted", "message": "disk"}), "stuck", "Evicted: disk"),
        (
            build_pod(build_statuses(build_ended(1, "the provided PTX\n was compiled"), WAITS, WAITS, phase="Failed")),
            "ended",
            "kernel ended with 1: Error: the provided PTX was",
        ),
        (
            build_pod(
                build_statuses(build_ended(128, "unresolvable CDI devices", "StartError"), WAITS, WAITS, phase="Failed")
            ),
            "ended",
            "kernel ended with 128: StartError: unresolvable CDI",
        ),
        (build_pod(build_statuses(DONE_STATE, build_ended(9), WAITS, phase="Failed")), "ended", "uuid ended with 9"),
        (
            build_pod(build_statuses(DONE_STATE, DONE_STATE, build_ended(0, "", "Completed"), phase="Succeeded")),
            "ended",
            "held ended with 0",
        ),
        (build_pod(build_statuses(DONE_STATE, DONE_STATE, {"running": {}}, phase="Running")), "running", ""),
        (
            build_pod(build_statuses(DONE_STATE, DONE_STATE, build_ended(137, "", "OOMKilled"))),
            "ended",
            "held was ended by signal 9: OOMKilled",
        ),
        (
            build_pod(
                build_statuses(DONE_STATE, DONE_STATE, build_ended(137), phase="Failed", reason="DeadlineExceeded")
            ),
            "ended",
            "DeadlineExceeded: held was ended by signal 9: Error",
        ),
    ],
)
def test_a_pod_status_has_its_stage_and_reason(pod_status: dict[str, Any], stage: str, reason: str) -> None:
    result = judge_pod(POD, pod_status)
    assert (result.name, result.node, result.stage, result.gpus) == ("proof-1", "gpu1", stage, ())
    assert result.reason.startswith(reason)
    assert bool(result.reason) == bool(reason)


@pytest.mark.parametrize(
    ("pod_status", "code"),
    [(build_ended(0), 0), (build_ended(244), 244), (build_ended(137), None), (build_ended(143), None)],
)
def test_a_container_that_was_killed_has_no_exit_status(pod_status: dict[str, Any], code: int | None) -> None:
    assert judge_pod(POD, build_pod({"containerStatuses": [{"name": "load", "state": pod_status}]})).code == code


def test_a_finished_pod_names_its_gpu() -> None:
    assert judge_output(POD, PASSED_OUTPUT, LINE) == PodResult("proof-1", "gpu1", "held", "", True, (VISIBLE,))


@pytest.mark.parametrize(
    ("logs", "ran", "reason"),
    [
        ({}, None, "its output could not be read"),
        ({UUID_QUERY: LINE}, None, "its output could not be read"),
        ({KERNEL: "Test FAILED\n", UUID_QUERY: LINE}, False, "vectorAdd did not say that it passed: Test FAILED"),
        ({KERNEL: "", UUID_QUERY: LINE}, False, "vectorAdd did not say that it passed: nothing"),
        (
            {KERNEL: PASSED_OUTPUT, UUID_QUERY: "No devices were found\n"},
            None,
            "nvidia-smi named no GPU: No devices were found",
        ),
        ({KERNEL: PASSED_OUTPUT, UUID_QUERY: LINE * 2}, False, "the pod asked for one GPU and sees 2"),
    ],
)
def test_the_log_decides_whether_the_kernel_ran(logs: dict[str, str], ran: bool | None, reason: str) -> None:
    result = judge_output(POD, logs.get(KERNEL), logs.get(UUID_QUERY))
    assert (result.stage, result.ran, result.reason) == ("held", ran, reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("00000000:65:00.0", "0000:65:00.0"), ("0000:CA:00.0", "0000:ca:00.0"), ("", ""), ("[N/A]", "")],
)
def test_a_pci_address_has_one_form(text: str, expected: str) -> None:
    assert normalize_bus(text) == expected


@pytest.mark.parametrize(("cordoned", "keys"), [(False, []), (True, [CORDON])])
def test_a_proof_has_the_tolerations_of_an_ordinary_pod_and_of_the_gate(*, cordoned: bool, keys: list[str]) -> None:
    """A toleration of the taint of control planes proves GPUs of nodes that no ordinary pod reaches."""
    manifest = build_proof_pod("p", "gpu1", "run", 60, cordoned=cordoned)
    assert [toleration["key"] for toleration in manifest["spec"]["tolerations"]] == [
        "nvidia.com/gpu",
        "gpustack.io/unproven",
        *keys,
    ]
