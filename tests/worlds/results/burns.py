"""Loads that never were. What their dcgmproftester prints is written after DCGM 4.6.0's source; no output of a real one
was seen."""

from dataclasses import replace

from gpustack.burn.judge import Burn, judge_gpus
from gpustack.burn.loads import Load, choose_load
from gpustack.burn.watch import GpuObservation
from gpustack.metrics.gpus import Gpu
from gpustack.proof.workload import PodResult, VisibleGpu

MODEL = "NVIDIA H100 80GB HBM3"
UUIDS = tuple(f"GPU-0000000{number}-0000-0000-0000-000000000000" for number in range(4))
# DistributedCudaContext.cpp, CreateDcgmGroups.
BEGIN = "Skipping CreateDcgmGroups() since DCGM validation is disabled\n"


def render_tensor(*gflops: str) -> str:
    """PhysicalGpu.cpp, RunSubtestGemmUtil; {:#.3} of 612345.0 is 6.12e+05."""
    lines = (f"Worker 0:0 [1004]: TensorEngineActive:  generated ???, dcgm 0 ({number} gflops).\n" for number in gflops)
    return "".join(lines)


def render_memory(*shares: str, divisor: str = "1.00") -> str:
    """RunSubtestDramUtil: the share of the interval before, and of this one."""
    text, before = "", "0.00"
    for share in shares:
        transfer = f"dcgm 0 (1.66e+03 GiB/sec). bandwidthDivisor {divisor}"
        text, before = f"{text}Worker 0:0[1005]: DramUtil generated {before}/{share}, {transfer}\n", share
    return text


def render_occupancy(id: int, *seconds: str) -> str:
    """RunSubtestSmOccupancyTargetMax, which writes no blank before the value."""
    head = f"GPU 0: Testing Maximum SmOccupancy/SmActivity/GrActivity for 60.0 seconds.\n{'-' * 61}\n"
    end = "seconds. threadPerSm 2048."
    return head + "".join(
        f"Worker 0:0[{id}]: SmOccupancy generated 1.0, dcgm0 at {seconds_text} {end}\n" for seconds_text in seconds
    )


def render_data_type(id: int, name: str) -> str:
    """RunSubtestDataTypeActive."""
    return f"Worker 0:0[{id}]: {name}: target max, dcgm 0\n"


def render_messages(id: int, capability: tuple[int, int]) -> str:
    """ProcessFinishedResponse, with what DistributedCudaContext.cpp has as messages."""
    major, minor = capability
    return (
        f"Worker 0:0[{id}]: Message: Bus ID 00000000:65:00.0 mapped to cuda device ID 0\n"
        "DCGM CudaContext Init completed successfully.\n\n"
        "CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: 2048\n"
        f"CUDA_VISIBLE_DEVICES: {UUIDS[0]}\n"
        f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: {major}\n"
        f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: {minor}\n"
        "Max Memory bandwidth: 3352320000000 bytes (3352.3 GiB)\n"
    )


def end(id: int, *, passed: bool = True) -> str:
    """DcgmProfTester.cpp, RunTests and main."""
    if passed:
        return f"GPU 0, TestField {id} test PASSED.\nAll Tests Passed.\n"
    return f"GPU 0, TestField {id} testing FAILED.\nGPU 0, TestField {id} test FAILED.\n"


# RunTests returns before it says anything of the test, and main takes that for a pass.
SKIPPED_TEST = BEGIN + "A test for fieldId 1004 has not been implemented yet.\nAll Tests Passed.\n"
WRONG = "Wrong version of dcgmproftester is used. Expected Cuda version is 12. Installed Cuda version is 11.\n"
TENSOR: Load = choose_load("1004")
GOOD = BEGIN + render_tensor("0.00", "6.12e+05", "6.10e+05", "6.11e+05") + render_messages(1004, (9, 0)) + end(1004)
SLOW = BEGIN + render_tensor("0.00", "4.12e+05", "4.10e+05", "4.11e+05") + render_messages(1004, (9, 0)) + end(1004)


def build_pod_result(number: int, output: str = GOOD, code: int | None = 0, reason: str = "") -> PodResult:
    gpu = VisibleGpu(UUIDS[number], f"0000:{number}5:00.0", MODEL)
    return PodResult(f"burn-{number}", "gpu1", "ended", reason, gpus=(gpu,), code=code, output=output)


def make_observation(
    reached_share: float | None = 0.91, samples: int = 4, *slowed_reasons: str, hot: str = "", index: str = "0"
) -> GpuObservation:
    observation = GpuObservation(
        1000.0, 1060.0, Gpu("gpu1", index, "", model=MODEL), 71.0, set(slowed_reasons), reached_share, hot=hot
    )
    observation.samples |= {1030.0 + number for number in range(samples)}
    return observation


# A good one, one slower than its peers, one that is too hot, and one whose pod never ran.
MIXED_BURN = Burn(
    TENSOR,
    60,
    judge_gpus(
        TENSOR,
        [
            build_pod_result(0),
            build_pod_result(1, SLOW),
            build_pod_result(2, "", None),
            PodResult("burn-3", "gpu2", "stuck", "Unschedulable: Insufficient nvidia.com/gpu"),
        ],
        {
            UUIDS[0]: make_observation(0.91, 4, "power cap"),
            UUIDS[1]: make_observation(0.62, index="1"),
            UUIDS[2]: replace(
                make_observation(None, 0, "heat", hot="93 °C, and its limit is 87 °C", index="2"), temperature=93.0
            ),
        },
        f"{UUIDS[2]} is too hot",
        blind=False,
    ),
    {"gpu3": "its GPUs are in use: team-a/train-0"},
    {"gpu1": "it offers 3 GPUs after the test, 4 before"},
    141.0,
    f"{UUIDS[2]} is too hot: 93 °C, and its limit is 87 °C",
)
FINE = Burn(
    TENSOR,
    60,
    judge_gpus(TENSOR, [build_pod_result(0)], {UUIDS[0]: make_observation(0.91, 4, "power cap")}, "", blind=False),
    seconds=95.0,
)
