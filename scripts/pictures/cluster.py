"""The invented cluster of the pictures: GPUs, their work in an hour, and the faults on them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

MINUTES = 60
START_MINUTE, HEAT_MINUTE, XID_MINUTE = 6.0, 28.0, 40.0
"""Minutes at which the training begins, one of its GPUs loses its cooling, and another GPU has an Xid."""

DEV, PROF = "DCGM_FI_DEV_", "DCGM_FI_PROF_"
NO_RETIREMENT, NO_MARGIN = f"{DEV}RETIRED_", f"{DEV}GPU_TEMP_LIMIT"
NO_NVLINK = (f"{DEV}NVLINK_", f"{PROF}NVLINK_", f"{DEV}FABRIC_")
IN_MIG = (
    f"{DEV}GPU_UTIL", f"{DEV}MEM_COPY_UTIL", f"{DEV}DEC_UTIL", f"{PROF}PCIE_", f"{DEV}NVLINK_", f"{PROF}NVLINK_",
    f"{DEV}UNCORRECTABLE_REMAPPED", f"{DEV}CORRECTABLE_REMAPPED", f"{DEV}ROW_REMAP_", f"{DEV}BANKS_REMAP",
)  # fmt: skip


@dataclass(frozen=True)
class Board:
    """Describe a model in MiB, watts and MHz; `absent` are beginnings of the fields that it does not have
    (dcgm-fields.csv)."""

    model: str
    memory: int
    limit: int
    idle: int
    clock: int
    memory_clock: int
    pcie: int
    absent: tuple[str, ...]


H100 = Board("NVIDIA H100 80GB HBM3", 81559, 700, 72, 1980, 2619, 5, (f"{DEV}ENC_UTIL", NO_RETIREMENT))
A100 = Board("NVIDIA A100-SXM4-80GB", 81920, 400, 58, 1410, 1593, 4, (f"{DEV}ENC_UTIL", NO_RETIREMENT, NO_MARGIN))
L40S = Board("NVIDIA L40S", 46068, 350, 36, 2520, 9001, 4, (f"{DEV}MEMORY_TEMP", NO_RETIREMENT, *NO_NVLINK))


@dataclass(frozen=True)
class Work:
    """Describe the load by minute, and at full load the share of the memory held and of the cycles of each part."""

    load: Callable[[float], float]
    memory_share: float
    parts: dict[str, float]
    pod: str = ""


def is_paused(minute: float) -> bool:
    """Tell whether the training pauses for a checkpoint."""
    return (minute + 5) % 12 < 1


def compute_training_load(minute: float) -> float:
    return 0.0 if minute < START_MINUTE else 0.12 if is_paused(minute) else 0.96


def compute_serving_load(minute: float) -> float:
    return 0.5 + 0.25 * math.sin(minute / 9) + 0.1 * math.sin(minute / 2.3)


def compute_batch_load(minute: float) -> float:
    return 0.9 if minute % 20 < 13 else 0.0


def compute_rest_load(_: float) -> float:
    return 0.0


TRAINING = Work(
    compute_training_load, 0.86, {"GR_ENGINE": 1, "SM": 0.93, "OCCUPANCY": 0.4, "TENSOR": 0.56, "DRAM": 0.61}, "train-0"
)
SERVING = Work(
    compute_serving_load, 0.91, {"GR_ENGINE": 1, "SM": 0.85, "OCCUPANCY": 0.35, "TENSOR": 0.17, "DRAM": 0.9}, "llm-0"
)
TRANSCODING = Work(
    compute_batch_load, 0.4, {"GR_ENGINE": 0.8, "SM": 0.6, "OCCUPANCY": 0.3, "TENSOR": 0.1, "DRAM": 0.3}, "video-0"
)
NOTEBOOK = Work(
    compute_batch_load, 0.5, {"GR_ENGINE": 0.5, "SM": 0.4, "OCCUPANCY": 0.2, "TENSOR": 0.1, "DRAM": 0.2}, "notebook-0"
)
NO_WORK = Work(compute_rest_load, 0.0, {})


@dataclass(frozen=True)
class Gpu:
    """Describe a GPU, or an instance of one: (profile, id)."""

    node: str
    index: int
    board: Board
    work: Work
    instance: tuple[str, str] = ("", "")

    @property
    def uuid(self) -> str:
        return f"GPU-{self.node}-{self.index}"

    @property
    def absent(self) -> tuple[str, ...]:
        return (*self.board.absent, *(IN_MIG if self.instance[0] else ()))


GPUS = (
    *(Gpu("gpu1", index, H100, TRAINING) for index in range(4)),
    *(Gpu("gpu2", index, A100, work) for index, work in enumerate((SERVING, SERVING, NO_WORK, SERVING))),
    *(Gpu("gpu3", index, L40S, work) for index, work in enumerate((TRANSCODING, NO_WORK))),
    Gpu("gpu4", 0, H100, NOTEBOOK, ("3g.40gb", "2")),
    Gpu("gpu4", 0, H100, NO_WORK, ("1g.10gb", "9")),
)
HOT_GPU, FAULTY_GPU = GPUS[2], GPUS[7]
NODES = ("gpu1", "gpu2", "gpu3", "gpu4")
NAMESPACE = "team-a"
