"""Recording rules of one GPU, from the exporter's counters (values/dcgm/counters.csv)."""

from gpustack.profile.boards import PCIE_LANE
from gpustack.vocabulary.contradiction import IDLE_ACTIVITY
from gpustack.vocabulary.labels import SHARE
from gpustack.vocabulary.memory import PARTS, TOTAL_MEMORY
from gpustack.vocabulary.units import find_unit
from scripts.values import contradiction_rules
from scripts.values.contradiction_rules import GPU_LABELS
from scripts.values.normalise import (
    BIG,
    BYTES_PER_SECOND,
    CELSIUS,
    COUNT,
    GPU,
    HEARD_GPUS,
    MEBIBYTES,
    MEGABYTES_PER_SECOND,
    MEGAHERTZ,
    MEMORY_CELSIUS,
    PERCENT,
    RATIO,
    SMALL,
    WATTS,
    Rule,
    group_by_gpu,
    group_by_workload,
    normalize_field,
    normalize_metric,
    pad_lines,
)

WHOLE_GPU_MATCHER = f'{{{SHARE}=""}}'
"""The matcher that leaves shares of GPUs out where what a pod uses is summed."""
DEV, PROF = "DCGM_FI_DEV_", "DCGM_FI_PROF_"
LAST_XID, MIG = "gpustack:gpu_last_xid:code", "gpustack:node_gpu_mig_instances:count"
XID_REPORTS = "gpustack:gpu_xid_reports:count5m"
UTIL = normalize_field(f"{DEV}GPU_UTIL")
ENGINE = normalize_field(f"{PROF}GR_ENGINE_ACTIVE")
USED_MEMORY = normalize_field(f"{DEV}FB_USED")
FREE_MEMORY = normalize_field(f"{DEV}FB_FREE")

# Recorded name, source, bound, scale. These follow the pod that has the GPU.
USAGE = (
    ("gpu_memory_access:ratio", f"{DEV}MEM_COPY_UTIL", PERCENT, "/ 100"),
    ("gpu_encoder:ratio", f"{DEV}ENC_UTIL", PERCENT, "/ 100"),
    ("gpu_decoder:ratio", f"{DEV}DEC_UTIL", PERCENT, "/ 100"),
    ("gpu_sm_active:ratio", f"{PROF}SM_ACTIVE", RATIO, ""),
    ("gpu_sm_occupancy:ratio", f"{PROF}SM_OCCUPANCY", RATIO, ""),
    ("gpu_tensor_active:ratio", f"{PROF}PIPE_TENSOR_ACTIVE", RATIO, ""),
    ("gpu_dram_active:ratio", f"{PROF}DRAM_ACTIVE", RATIO, ""),
    ("gpu_fp64_active:ratio", f"{PROF}PIPE_FP64_ACTIVE", RATIO, ""),
    ("gpu_fp32_active:ratio", f"{PROF}PIPE_FP32_ACTIVE", RATIO, ""),
    ("gpu_fp16_active:ratio", f"{PROF}PIPE_FP16_ACTIVE", RATIO, ""),
    ("gpu_pcie_transmit:bytes_per_second", f"{PROF}PCIE_TX_BYTES", BYTES_PER_SECOND, ""),
    ("gpu_pcie_receive:bytes_per_second", f"{PROF}PCIE_RX_BYTES", BYTES_PER_SECOND, ""),
    ("gpu_nvlink_transmit:bytes_per_second", f"{PROF}NVLINK_TX_BYTES", BYTES_PER_SECOND, ""),
    ("gpu_nvlink_receive:bytes_per_second", f"{PROF}NVLINK_RX_BYTES", BYTES_PER_SECOND, ""),
    (
        "gpu_nvlink_traffic:bytes_per_second",
        f"{DEV}NVLINK_BANDWIDTH_TOTAL",
        MEGABYTES_PER_SECOND,
        f"* {find_unit('MB/s').scale:.9g}",
    ),
)

# These belong to the board: a change of pod must not begin them anew.
BOARD = (
    ("gpu_memory_reserved:bytes", f"{DEV}FB_RESERVED", MEBIBYTES, "* 1048576"),
    ("gpu_temperature:celsius", f"{DEV}GPU_TEMP", CELSIUS, ""),
    ("gpu_memory_temperature:celsius", f"{DEV}MEMORY_TEMP", MEMORY_CELSIUS, ""),
    ("gpu_temperature_margin:celsius", f"{DEV}GPU_TEMP_LIMIT", CELSIUS, ""),
    ("gpu_temperature_max_operating:celsius", f"{DEV}GPU_MAX_OP_TEMP", CELSIUS, ""),
    ("gpu_temperature_slowdown:celsius", f"{DEV}SLOWDOWN_TEMP", CELSIUS, ""),
    ("gpu_temperature_shutdown:celsius", f"{DEV}SHUTDOWN_TEMP", CELSIUS, ""),
    ("gpu_power:watts", f"{DEV}POWER_USAGE", WATTS, ""),
    ("gpu_power_limit:watts", f"{DEV}ENFORCED_POWER_LIMIT", WATTS, ""),
    ("gpu_power_limit_default:watts", f"{DEV}POWER_MGMT_LIMIT_DEF", WATTS, ""),
    ("gpu_energy:joules_total", f"{DEV}TOTAL_ENERGY_CONSUMPTION", BIG, "/ 1000"),
    ("gpu_sm_clock:hertz", f"{DEV}SM_CLOCK", MEGAHERTZ, "* 1e6"),
    ("gpu_memory_clock:hertz", f"{DEV}MEM_CLOCK", MEGAHERTZ, "* 1e6"),
    ("gpu_sm_clock_max:hertz", f"{DEV}MAX_SM_CLOCK", MEGAHERTZ, "* 1e6"),
    ("gpu_below_base_clocks:seconds_total", f"{DEV}TOTAL_BASE_CLOCKS_VIOLATION", BIG, "/ 1e9"),
    ("gpu_performance:state", f"{DEV}PSTATE", SMALL, ""),
    ("gpu_pcie_replays:total", f"{DEV}PCIE_REPLAY_COUNTER", COUNT, ""),
    ("gpu_pcie_generation:number", f"{DEV}PCIE_LINK_GEN", SMALL, ""),
    ("gpu_pcie_generation_max:number", f"{DEV}PCIE_MAX_LINK_GEN", SMALL, ""),
    ("gpu_pcie_lanes:number", f"{DEV}PCIE_LINK_WIDTH", SMALL, ""),
    ("gpu_pcie_lanes_max:number", f"{DEV}PCIE_MAX_LINK_WIDTH", SMALL, ""),
    ("gpu_ecc_on:bool", f"{DEV}ECC_CURRENT", SMALL, ""),
    ("gpu_ecc_on_next_boot:bool", f"{DEV}ECC_PENDING", SMALL, ""),
    ("gpu_sram_threshold_passed:bool", f"{DEV}THRESHOLD_SRM", SMALL, ""),
    ("gpu_row_remap_failed:bool", f"{DEV}ROW_REMAP_FAILURE", SMALL, ""),
    ("gpu_row_remap_pending:bool", f"{DEV}ROW_REMAP_PENDING", SMALL, ""),
    ("gpu_banks_without_spare_rows:number", f"{DEV}BANKS_REMAP_ROWS_AVAIL_NONE", SMALL, ""),
    ("gpu_memory_unrepairable:bool", f"{DEV}MEMORY_UNREPAIRABLE_FLAG", SMALL, ""),
    ("gpu_page_retirement_pending:bool", f"{DEV}RETIRED_PENDING", SMALL, ""),
    ("gpu_last_xid:code", f"{DEV}XID_ERRORS", SMALL, ""),
    ("gpu_recovery_action:code", f"{DEV}GET_GPU_RECOVERY_ACTION", SMALL, ""),
    ("gpu_nvlink_recoveries_failed:total", f"{DEV}NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS", COUNT, ""),
    ("gpu_fabric_manager:state", f"{DEV}FABRIC_MANAGER_STATUS", SMALL, ""),
    ("gpu_fabric_health:state", f"{DEV}FABRIC_HEALTH_SUMMARY", SMALL, ""),
    ("gpu_virtualisation:mode", f"{DEV}VIRTUAL_MODE", SMALL, ""),
    ("gpu_licensed:bool", f"{DEV}VGPU_LICENSE_STATUS", SMALL, ""),
)

# One recorded name, told apart by a label.
REASON = f"{DEV}CLOCKS_EVENT_REASON_"
LABELLED_FIELDS = (
    ("gpu_throttled:seconds_total", "reason", "power_cap", f"{REASON}SW_POWER_CAP_NS", "/ 1e9"),
    ("gpu_throttled:seconds_total", "reason", "sync_boost", f"{REASON}SYNC_BOOST_NS", "/ 1e9"),
    ("gpu_throttled:seconds_total", "reason", "sw_thermal", f"{REASON}SW_THERM_SLOWDOWN_NS", "/ 1e9"),
    ("gpu_throttled:seconds_total", "reason", "hw_thermal", f"{REASON}HW_THERM_SLOWDOWN_NS", "/ 1e9"),
    ("gpu_throttled:seconds_total", "reason", "power_brake", f"{REASON}HW_POWER_BRAKE_SLOWDOWN_NS", "/ 1e9"),
    ("gpu_throttled:seconds_total", "reason", "power_violation", f"{DEV}POWER_VIOLATION", "/ 1e9"),
    ("gpu_throttled:seconds_total", "reason", "thermal_violation", f"{DEV}THERMAL_VIOLATION", "/ 1e9"),
    ("gpu_ecc_errors:total", "kind", "corrected", f"{DEV}ECC_SBE_VOL_TOTAL", ""),
    ("gpu_ecc_errors:total", "kind", "uncorrected", f"{DEV}ECC_DBE_VOL_TOTAL", ""),
    ("gpu_ecc_errors_lifetime:total", "kind", "corrected", f"{DEV}ECC_SBE_AGG_TOTAL", ""),
    ("gpu_ecc_errors_lifetime:total", "kind", "uncorrected", f"{DEV}ECC_DBE_AGG_TOTAL", ""),
    ("gpu_remapped_rows:total", "kind", "corrected", f"{DEV}CORRECTABLE_REMAPPED_ROWS", ""),
    ("gpu_remapped_rows:total", "kind", "uncorrected", f"{DEV}UNCORRECTABLE_REMAPPED_ROWS", ""),
    ("gpu_retired_pages:total", "kind", "corrected", f"{DEV}RETIRED_SBE", ""),
    ("gpu_retired_pages:total", "kind", "uncorrected", f"{DEV}RETIRED_DBE", ""),
    ("gpu_nvlink_errors:total", "kind", "crc_flit", f"{DEV}NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", ""),
    ("gpu_nvlink_errors:total", "kind", "crc_data", f"{DEV}NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", ""),
    ("gpu_nvlink_errors:total", "kind", "replay", f"{DEV}NVLINK_REPLAY_ERROR_COUNT_TOTAL", ""),
    ("gpu_nvlink_errors:total", "kind", "recovery", f"{DEV}NVLINK_RECOVERY_ERROR_COUNT_TOTAL", ""),
)

# Bits of DCGM_FI_DEV_CLOCK_THROTTLE_REASONS; bit 1 is "idle" and means nothing. PromQL has no bitwise and.
BITS = {"power_cap": 4, "hw_slowdown": 8, "sync_boost": 16, "sw_thermal": 32, "hw_thermal": 64, "power_brake": 128}
REASONS = normalize_metric(f"{DEV}CLOCK_THROTTLE_REASONS", COUNT)


def build_usage_rules() -> list[Rule]:
    engine = Rule(contradiction_rules.ENGINE, group_by_workload(ENGINE))
    utilisation = Rule(
        contradiction_rules.UTILISATION,
        f"{group_by_workload(UTIL)}\nor\n{engine.record} unless on (UUID, GPU_I_ID) ({UTIL})",
        comment="Share of time with any kernel resident; of MIG instances, which have no such figure, the engine's.",
    )
    idle_utilisation = f"{utilisation.record} unless on ({GPU_LABELS}) {engine.record} > {IDLE_ACTIVITY}"
    activity = Rule(
        "gpustack:gpu_active:ratio",
        contradiction_rules.replace_dead_counters(engine.record, idle_utilisation, f"on ({GPU_LABELS})"),
        comment="Share of time the engine is busy: the same meaning for GPUs and MIG instances. Utilisation stands for "
        "counters that are dead.",
    )
    memory = [
        Rule("gpustack:gpu_memory_used:bytes", group_by_workload(USED_MEMORY)),
        Rule("gpustack:gpu_memory_free:bytes", group_by_workload(FREE_MEMORY)),
        Rule(
            "gpustack:gpu_memory_utilisation:ratio",
            f"1 / (\n  1 + gpustack:gpu_memory_free:bytes\n  / on ({GPU}) group_left ()\n"
            f"  max by ({GPU}) (gpustack:gpu_memory_used:bytes)\n)",
            comment="Used of used and free, of the whole GPU even if pods share it; without the driver's reservation.",
        ),
    ]
    usage = [Rule(f"gpustack:{name}", group_by_workload(normalize_metric(*source))) for name, *source in USAGE]
    power, contradiction = contradiction_rules.build_power_rule(), contradiction_rules.build_contradiction_rule()
    return [engine, utilisation, *memory, *usage, power, contradiction, activity]


def build_board_rules() -> list[Rule]:
    info = Rule(
        "gpustack:gpu:info",
        group_by_gpu(f"({HEARD_GPUS}) * 0 + 1"),
        comment="Always 1: the GPU or MIG instance is heard of.",
    )
    total_memory = normalize_field(TOTAL_MEMORY)
    used_memory, free_memory, reserved_memory = (normalize_field(name, WHOLE_GPU_MATCHER) for name in PARTS)
    memory = Rule(
        "gpustack:gpu_memory_total:bytes",
        group_by_gpu(
            f"{total_memory}\nor\n({used_memory}) + ({free_memory}) + ({reserved_memory} or ({free_memory}) * 0)"
        ),
        comment="The sum of its parts where the exporter sends no total; what one pod uses of a shared GPU is none.",
    )
    health = Rule(
        "gpustack:gpu_health:status",
        group_by_gpu(normalize_metric("DCGM_EXP_GPU_HEALTH_STATUS", SMALL), "health_watch", "health_error_code"),
        comment="DCGM's own judgement by watch: 0 pass, 10 warn, 20 fail.",
    )
    plain_rules = [Rule(f"gpustack:{name}", group_by_gpu(normalize_metric(*source))) for name, *source in BOARD]
    labelled_rules = [
        Rule(f"gpustack:{name}", group_by_gpu(normalize_metric(metric, BIG, scale)), {label: value})
        for name, label, value, metric, scale in LABELLED_FIELDS
    ]
    bits = [
        Rule("gpustack:gpu_throttle_reason:bool", group_by_gpu(f"floor({REASONS} / {bit}) % 2"), {"reason": reason})
        for reason, bit in BITS.items()
    ]
    rates = [
        Rule("gpustack:gpu_throttled:ratio_rate5m", "rate(gpustack:gpu_throttled:seconds_total[5m])"),
        Rule("gpustack:gpu_below_base_clocks:ratio_rate5m", "rate(gpustack:gpu_below_base_clocks:seconds_total[5m])"),
        Rule("gpustack:gpu_energy:watts_rate5m", "rate(gpustack:gpu_energy:joules_total[5m])"),
    ]
    return [info, memory, health, *plain_rules, build_pcie_rule(), *build_xid_rules(), *labelled_rules, *bits, *rates]


def build_pcie_rule() -> Rule:
    """Build the share of the link that PCIe uses, as `gpustack profile` computes it: of the generation that GPU and
    slot have at most, because an idle link falls to a lower one, and of the lanes in use."""
    transmit, receive = (f"gpustack:gpu_pcie_{direction}:bytes_per_second" for direction in ("transmit", "receive"))
    rates = "\nor\n".join(
        f"(gpustack:gpu_pcie_generation_max:number == {generation}) * 0 + {rate:.0f}"
        for generation, rate in PCIE_LANE.items()
    )
    return Rule(
        "gpustack:gpu_pcie_utilisation:ratio",
        f"max by ({GPU}) ({transmit} >= {receive} or {receive} > {transmit})\n"
        f"/ (\n  (gpustack:gpu_pcie_lanes:number > 0)\n  * (\n{pad_lines(pad_lines(rates))}\n  )\n)",
        comment="The busier direction as a share of the link: of its highest generation and the lanes in use. Not "
        "there where a direction, the generation or the lanes are not measured.",
    )


def build_xid_rules() -> list[Rule]:
    """Build the rules of Xids. The exporter reads the Xids of instances where a board has some, and prints one of
    instance 3 of the first board as one of the fourth board (internal/pkg/collector/expcollector.go of dcgm-exporter
    looks the number of an instance up as that of a GPU)."""
    error_counts = group_by_gpu(normalize_metric('DCGM_EXP_XID_ERRORS_COUNT{xid!~"0?"}', SMALL), "xid")
    last_codes = (
        f'count_values by ({GPU}) (\n  "xid",\n'
        f"  {LAST_XID} > 0 unless last_over_time({LAST_XID}[6h] offset 5m) == {LAST_XID}\n)\n"
        "unless on (UUID) DCGM_EXP_XID_ERRORS_COUNT"
    )
    return [
        Rule(
            XID_REPORTS,
            f"{error_counts}\nor\n{last_codes}",
            comment="By code, within 300 s. The last code stands for a count that is missing.",
        ),
        Rule(
            "gpustack:gpu_xid_errors:count5m",
            f"{XID_REPORTS} unless on (node) {MIG}\nor\n"
            f'label_replace({XID_REPORTS} and on (node) {MIG}, "attribution", "uncertain", "", "")',
            comment="With MIG the GPU is unsure.",
        ),
    ]
