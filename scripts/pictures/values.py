"""Values of an invented GPU at a minute of the hour, by DCGM's field, in the field's unit."""

import random
from collections.abc import Mapping

from scripts.pictures.cluster import DEV as D
from scripts.pictures.cluster import FAULTY_GPU, HEAT_MINUTE, HOT_GPU, NO_WORK, SERVING, XID_MINUTE, Gpu
from scripts.pictures.cluster import PROF as P

SLOWDOWN = 87
XID = 94


def compute_slowdown(minute: float) -> float:
    """Compute the share of the time in which the hardware cuts the clocks of the GPU without cooling."""
    return min(0.45, max(0.0, (minute - HEAT_MINUTE - 6) / 30))


def compute_load(gpu: Gpu, minute: float) -> float:
    """Compute the load, 0 to 1. The others of a job wait for its slowest GPU; a faulty one loses its pod."""
    if gpu is FAULTY_GPU and minute >= XID_MINUTE:
        return 0.0
    load = gpu.work.load(minute)
    return load * (1 - 0.35 * compute_slowdown(minute)) if gpu.work is HOT_GPU.work else load


def compute_gauges(gpu: Gpu, minute: float) -> dict[str, float]:
    """Compute the current fields; those that are not named are 0."""
    noise = random.Random(f"{gpu.uuid}{gpu.instance}{minute}").gauss(1, 0.012)  # noqa: S311 - no secret
    load = min(1.0, compute_load(gpu, minute) * noise)
    is_hot = gpu is HOT_GPU and minute > HEAT_MINUTE
    heat = 39 + 27 * load + gpu.index + (min(22.0, (minute - HEAT_MINUTE) * 2.2) if is_hot else 0)
    clock_cut = compute_slowdown(minute) * 0.5 if is_hot else 0.0
    parts = {name: share * load * (1 - clock_cut) for name, share in gpu.work.parts.items()}
    return (
        compute_activity(parts, load)
        | compute_memory(gpu, minute)
        | compute_board(gpu, load, heat, clock_cut)
        | compute_state(gpu, minute)
    )


def compute_activity(parts: Mapping[str, float], load: float) -> dict[str, float]:
    activity = {name: parts.get(name, 0.0) for name in ("GR_ENGINE", "SM", "OCCUPANCY", "TENSOR", "DRAM")}
    traffic = activity["TENSOR"]
    return {
        f"{P}GR_ENGINE_ACTIVE": activity["GR_ENGINE"],
        f"{P}SM_ACTIVE": activity["SM"],
        f"{P}SM_OCCUPANCY": activity["OCCUPANCY"],
        f"{P}PIPE_TENSOR_ACTIVE": activity["TENSOR"],
        f"{P}DRAM_ACTIVE": activity["DRAM"],
        f"{P}PIPE_FP32_ACTIVE": activity["SM"] * 0.22,
        f"{P}PIPE_FP16_ACTIVE": activity["SM"] * 0.04,
        f"{D}GPU_UTIL": min(100.0, 120 * activity["GR_ENGINE"]),
        f"{D}MEM_COPY_UTIL": 90 * activity["DRAM"],
        f"{D}ENC_UTIL": 60 * load,
        f"{D}DEC_UTIL": 5 * load,
        f"{P}PCIE_TX_BYTES": 1.1e9 * load + 2e6,
        f"{P}PCIE_RX_BYTES": 3.4e9 * load + 3e6,
        f"{P}NVLINK_TX_BYTES": 2.1e11 * traffic,
        f"{P}NVLINK_RX_BYTES": 2.1e11 * traffic,
        f"{D}NVLINK_BANDWIDTH_TOTAL": 4.2e5 * traffic,
    }


def compute_memory(gpu: Gpu, minute: float) -> dict[str, float]:
    profile = gpu.instance[0]
    total_memory = gpu.board.memory * (float(profile[0]) / 8 if profile else 1)
    is_lost = gpu is FAULTY_GPU and minute >= XID_MINUTE
    load_share = 0.3 if gpu.work.load(minute) == 0 else 1
    used_memory = 4 if gpu.work is NO_WORK or is_lost else gpu.work.memory_share * total_memory * load_share
    reserved_memory = 0.008 * total_memory
    return {
        f"{D}FB_TOTAL": total_memory,
        f"{D}FB_USED": used_memory,
        f"{D}FB_RESERVED": reserved_memory,
        f"{D}FB_FREE": total_memory - used_memory - reserved_memory,
    }


def compute_board(gpu: Gpu, load: float, heat: float, cut: float) -> dict[str, float]:
    board, is_idle = gpu.board, load < 0.02
    reasons = 1 if is_idle else 64 | 8 if cut > 0 else 4 if load > 0.9 else 0
    return {
        f"{D}GPU_TEMP": round(heat),
        f"{D}MEMORY_TEMP": round(heat + 9 * load + 4),
        f"{D}GPU_TEMP_LIMIT": SLOWDOWN - round(heat),
        f"{D}GPU_MAX_OP_TEMP": 85,
        f"{D}SLOWDOWN_TEMP": SLOWDOWN,
        f"{D}SHUTDOWN_TEMP": 92,
        f"{D}POWER_USAGE": board.idle + (board.limit * 0.97 - board.idle) * load * (1 - cut),
        f"{D}ENFORCED_POWER_LIMIT": board.limit,
        f"{D}POWER_MGMT_LIMIT_DEF": board.limit,
        f"{D}SM_CLOCK": board.clock * (0.18 if is_idle else (0.97 - 0.05 * load) * (1 - cut)),
        f"{D}MAX_SM_CLOCK": board.clock,
        f"{D}MEM_CLOCK": board.memory_clock,
        f"{D}CLOCK_THROTTLE_REASONS": reasons,
        f"{D}PCIE_LINK_GEN": 1 if is_idle else board.pcie,
        f"{D}PCIE_MAX_LINK_GEN": board.pcie,
        f"{D}PCIE_LINK_WIDTH": 16,
        f"{D}PCIE_MAX_LINK_WIDTH": 16,
    }


def compute_state(gpu: Gpu, minute: float) -> dict[str, float]:
    """Compute errors and verdicts: the faulty GPU has found a bad row of its memory, which a reset would replace."""
    fault_count = float(gpu is FAULTY_GPU and minute >= XID_MINUTE)
    old_errors = 3.0 if gpu.work is SERVING else 0.0
    return {
        f"{D}ECC_CURRENT": 1,
        f"{D}ECC_PENDING": 1,
        f"{D}ECC_DBE_VOL_TOTAL": fault_count,
        f"{D}ECC_DBE_AGG_TOTAL": fault_count,
        f"{D}ECC_SBE_AGG_TOTAL": old_errors + gpu.index,
        f"{D}CORRECTABLE_REMAPPED_ROWS": old_errors > 0 and gpu.index == 1,
        f"{D}UNCORRECTABLE_REMAPPED_ROWS": fault_count,
        f"{D}ROW_REMAP_PENDING": fault_count,
        f"{D}GET_GPU_RECOVERY_ACTION": fault_count,
        f"{D}FABRIC_MANAGER_STATUS": 3,
        f"{D}FABRIC_HEALTH_SUMMARY": 1,
        f"{D}XID_ERRORS": XID * fault_count,
        "DCGM_EXP_XID_ERRORS_COUNT": float(fault_count and minute < XID_MINUTE + 5),
    }


def compute_rates(gpu: Gpu, minute: float, gauges: Mapping[str, float]) -> dict[str, float]:
    """Compute the growth of counters per second: mJ, ns and events."""
    heat = compute_slowdown(minute) if gpu is HOT_GPU else 0.0
    return {
        f"{D}TOTAL_ENERGY_CONSUMPTION": gauges[f"{D}POWER_USAGE"] * 1e3,
        f"{D}CLOCKS_EVENT_REASON_SW_POWER_CAP_NS": 3e7 if gauges[f"{D}CLOCK_THROTTLE_REASONS"] == 4 else 0.0,
        f"{D}CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS": heat * 1e9,
        f"{D}THERMAL_VIOLATION": heat * 1e9,
        f"{D}PCIE_REPLAY_COUNTER": 0.004 * (gpu.index == 1),
    }
