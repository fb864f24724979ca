"""GPUs themselves: lost, ill, missing; and that an old word of the kernel's is none of these."""

import pytest

from tests.unit.doctor.checks.evaluation import judge_gpu_cluster, summarize

CRITICAL, LOST_GPU = "gpu-xid-critical", "gpu-fell-off-bus"
FABRIC = "gpu-fabricmanager-down"
ROWS = "gpu-ecc-row-remap-pending"


@pytest.mark.parametrize(
    ("id", "cases", "outcome", "actual"),
    [
        (CRITICAL, {"scrape__xids": "critical"}, "ok", "all GPUs healthy"),
        (CRITICAL, {"scrape__xids": "critical", "gpu__nodes": "nothing-allocatable"}, "failed", "2 GPUs not"),
        (CRITICAL, {"gpu__logs": "xid", "gpu__nodes": "nothing-allocatable"}, "failed", "2 GPUs not"),
        (CRITICAL, {"scrape__xids": "lost", "gpu__nodes": "nothing-allocatable"}, "ok", "none that is critical"),
        (CRITICAL, {"scrape__xids": "error"}, "unknown", ""),
        (LOST_GPU, {"scrape__xids": "lost"}, "ok", "accessible"),
        (LOST_GPU, {"scrape__xids": "lost", "gpu__smi": "one-listed"}, "failed", "Xid 79"),
        (LOST_GPU, {"gpu__kernel_log": "xids", "gpu__smi": "one-listed"}, "failed", "Xid 79"),
        # The device plugin withholds a GPU that is well again, until its pod is restarted.
        (LOST_GPU, {"gpu__kernel_log": "xids", "gpu__nodes": "nothing-allocatable"}, "ok", "accessible again"),
        (LOST_GPU, {"gpu__smi": "fallen-off"}, "failed", ""),
        (LOST_GPU, {"gpu__kernel_log": "odd"}, "unknown", ""),
        (ROWS, {"scrape__row_remap": "pending"}, "failed", "ROW_REMAP_PENDING"),
        (ROWS, {"gpu__smi": "rows-pending", "scrape__row_remap": "error"}, "failed", "0000:1f:00.0: pending"),
        (ROWS, {"gpu__smi": "rows-unknown", "scrape__row_remap": "error"}, "unknown", ""),
        (ROWS, {"gpu__smi": "rows-unknown", "scrape__row_remap": "pending"}, "failed", "ROW_REMAP_PENDING"),
        (FABRIC, {"gpu__plugin_files": "fabric-down"}, "failed", "failed"),
        (FABRIC, {"gpu__plugin_files": "fabric-down", "units__failed": "fabric-manager"}, "failed", "530.41.03"),
        (FABRIC, {"gpu__plugin_files": "no-gpu"}, "ok", "the host has no GPU"),
        (FABRIC, {"gpu__plugin_files": "switchless-down"}, "ok", "no NVSwitch on the bus"),
        # The NVSwitches of a B200 are on no bus of the host.
        (FABRIC, {"gpu__plugin_files": "switchless-down", "gpu__devices": "b200"}, "unknown", "10de:2901"),
        (FABRIC, {"gpu__plugin_files": "switchless-active", "gpu__devices": "b200"}, "ok", "no NVSwitch"),
        (FABRIC, {"gpu__plugin_files": "odd"}, "unknown", ""),
        ("gpu-none-on-node", {"gpu__devices": "none"}, "failed", "node k1 has them"),
        ("gpu-none-on-node", {"gpu__devices": "none", "gpu__nodes": "no-labels"}, "failed", "has them"),
        ("gpu-none-on-node", {}, "ok", "2"),
        ("gpu-driver-too-old-for-cuda", {"pods__pending": "cuda-demand"}, "failed", "cuda>=12.8"),
        ("gpu-driver-too-old-for-cuda", {"pods__pending": "of-users"}, "ok", "supported"),
        ("st-gpu-unhealthy", {"gpu__nodes": "nothing-allocatable"}, "failed", "2"),
        ("st-gpu-unhealthy", {"gpu__nodes": "nothing-allocatable", "gpu__plugin_files": "no-socket"},
         "unknown", "the device plugin is not registered"),
        ("st-gpu-unhealthy -> insufficient-resources", {"pods__pending": "of-users"}, "ok", "nothing"),
        ("st-cuda-fails", {"gpu__plugin_files": "no-marks", "gpu__logs": "engine"}, "failed", "device vector"),
        ("st-cuda-fails", {"gpu__logs": "engine"}, "ok", "passed"),
    ],
)  # fmt: skip
def test_faults_of_gpus_are_judged(id: str, cases: dict[str, str], outcome: str, actual: str) -> None:
    result = summarize(judge_gpu_cluster(id, "k1", **cases))
    assert result[0] == outcome, result
    assert actual in result[1], result
