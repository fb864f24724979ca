"""Faults of boards and nodes, each constructed from a recorded page: what changes at minute 30, which alert tells of
it, and within how many minutes: what the rule waits for, and at most five more."""

from dataclasses import dataclass

from tests.contract.healthy_states import BUSY, LINKS_DOWN, WITHOUT_HOST
from tests.contract.page_changes import add_fields, limit_link, limit_power, rename_model
from tests.contract.timelines import ENERGY, Pieces
from tests.contract.transitions import BEGIN, OWN_DRIVER, Transition
from tests.unit.gpus.exporter_faults import D, P

FOREVER = (BEGIN, 1000)
HEALTH, XIDS = "DCGM_EXP_GPU_HEALTH_STATUS", "DCGM_EXP_XID_ERRORS_COUNT"
MEMORY_FAILS = f'{HEALTH}{{health_watch="MEM",health_error_code="DCGM_FR_VOLATILE_DBE_DETECTED"}}'
HOT, POWER_CAP = 64, 4
SECONDS = 60e9
STUCK_DRIVER = Transition("stuck-driver", silent=(0, 1000), driver=(0, 1000), life=FOREVER)
"""The driver's container on a node that joins compiles for ever."""
KUBELET_CERTIFICATE = "kubelet_certificate_manager_client_ttl_seconds"
CAPACITY, ALLOCATABLE = "kube_node_status_capacity", "kube_node_status_allocatable"


@dataclass(frozen=True)
class Fault:
    """`alert` fires for the node at most `minutes` after the fault where it names one."""

    transition: Transition
    alert: str
    minutes: float
    names_node: bool = True

    @property
    def node(self) -> str:
        return self.transition.node if self.names_node else ""


def build_change(value: float, faulty_value: float | None, rise: float = 0) -> Pieces:
    """Turn a value into that of the fault."""
    return [(0, value, 0), (BEGIN, faulty_value, rise)]


def begin(value: float) -> Pieces:
    return [(0, None, 0), (BEGIN, value, 0)]


def build_field_fault(
    alert: str, minutes: float, name: str, value: float, faulty_value: float, **fields: float
) -> Fault:
    """Turn one field of the exporter; `fields` are constant and needed beside it."""
    all_fields = {f"{D}{name}": value, **{f"{D}{key}": constant for key, constant in fields.items()}}
    transition = Transition(
        f"{alert}-{name}".lower().replace("_", "-"), values={f"{D}{name}": build_change(value, faulty_value)},
        changes=(add_fields(all_fields),),
    )  # fmt: skip
    return Fault(transition, alert, minutes)


FAULTS = (
    *(
        Fault(
            Transition(f"xid-{xid}", values={XIDS: begin(1)}, changes=(add_fields({f'{XIDS}{{xid="{xid}"}}': 1}),)),
            alert, 1,
        )
        for xid, alert in ((79, "GpuXidCritical"), (63, "GpuXidWarning"), (31, "GpuXidApplication"))
    ),
    build_field_fault("GpuEccUncorrected", 2, "ECC_DBE_VOL_TOTAL", 0, 1),
    Fault(
        Transition(
            "error-behind-boot", silent=(30, 33), kubernetes=OWN_DRIVER,
            values={f"{D}ECC_DBE_AGG_TOTAL": [(0, 0, 0), (33, 1, 0)]},
            changes=(add_fields({f"{D}ECC_DBE_VOL_TOTAL": 0, f"{D}ECC_DBE_AGG_TOTAL": 0}),),
        ),
        "GpuEccUncorrected", 5,
    ),
    build_field_fault("GpuRowRemapPending", 17, "ROW_REMAP_PENDING", 0, 1),
    build_field_fault("GpuRecoveryActionRequired", 3, "GET_GPU_RECOVERY_ACTION", 0, 1),
    Fault(Transition("remap-failed", values={f"{D}ROW_REMAP_FAILURE": build_change(0, 1)}), "GpuRowRemapFailed", 2),
    Fault(
        Transition(
            "unnamed-host", values={f"{D}ROW_REMAP_FAILURE": build_change(0, 1)}, changes=(WITHOUT_HOST,)
        ),
        "GpuRowRemapFailed", 2, names_node=False,
    ),
    Fault(Transition("remap", values={f"{D}UNCORRECTABLE_REMAPPED_ROWS": build_change(0, 1)}), "GpuRemapsGrowing", 5),
    Fault(
        Transition("memory-health", values={HEALTH: begin(20)}, changes=(add_fields({MEMORY_FAILS: 20}),)),
        "GpuHealthFail", 4,
    ),
    Fault(
        Transition(
            "link-down", values={HEALTH: begin(20)},
            changes=(add_fields({LINKS_DOWN: 20, f"{D}NVLINK_BANDWIDTH_TOTAL": 900}),),
        ),
        "GpuHealthFail", 10,
    ),
    build_field_fault("GpuNvlinkErrors", 3, "NVLINK_REPLAY_ERROR_COUNT_TOTAL", 0, 5),
    build_field_fault("GpuFabricManagerFailed", 3, "FABRIC_MANAGER_STATUS", 3, 4),
    Fault(
        Transition(
            "hot-counter", values={f"{D}CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS": build_change(0, 0, SECONDS)},
            changes=(
                add_fields({f"{D}CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS": 0, f"{D}CLOCK_THROTTLE_REASONS": 0}),
            ),
        ),
        "GpuHwThermalSlowdown", 4,
    ),
    build_field_fault(
        "GpuHwThermalSlowdown", 4, "CLOCK_THROTTLE_REASONS", 1, HOT, CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS=0
    ),
    build_field_fault("GpuNearSlowdown", 12, "GPU_TEMP_LIMIT", 40, 2),
    Fault(
        Transition(
            "shutdown",
            values={f"{D}GPU_TEMP": build_change(60, 94)},
            changes=(add_fields({f"{D}SHUTDOWN_TEMP": 96}),),
        ),
        "GpuNearShutdown", 3,
    ),
    Fault(
        Transition(
            "lowered-limit",
            values={
                f"{D}CLOCK_THROTTLE_REASONS": build_change(1, POWER_CAP),
                f"{D}ENFORCED_POWER_LIMIT": build_change(72, 40),
            },
            changes=(limit_power(72, 885, 2040),),
        ),
        "GpuPowerCappedHard", 36,
    ),
    build_field_fault("GpuPcieDegradedWidth", 12, "PCIE_LINK_WIDTH", 16, 8, PCIE_MAX_LINK_WIDTH=16),
    Fault(
        Transition(
            "slow-link", values={f"{D}PCIE_LINK_GEN": build_change(4, 1)}, changes=(BUSY, limit_link(16, 16, 4, 4))
        ),
        "GpuPcieDegradedGen", 28,
    ),
    Fault(
        Transition(
            "dead-counters", "t4-full-load",
            values={
                f"{P}{name}": build_change(0.2, 0) for name in ("GR_ENGINE_ACTIVE", "PIPE_TENSOR_ACTIVE", "DRAM_ACTIVE")
            },
        ),
        "GpuCountersDead", 25,
    ),
    Fault(
        Transition(
            "no-profiling", values={f"{P}SM_ACTIVE": build_change(0.5, None)},
            changes=(rename_model("NVIDIA L40"), add_fields({f"{P}SM_ACTIVE": 0.5})),
        ),
        "GpuProfilingMissing", 17,
    ),
    Fault(Transition("frozen", values={ENERGY: [(0, 1e6, 1e6), (BEGIN, 31e6, 0)]}), "GpuTelemetryFrozen", 17),
    Fault(
        Transition(
            "unlicensed", "vgpu-guest-a100-10c", values={f"{D}VGPU_LICENSE_STATUS": build_change(1, 0)},
            changes=(add_fields({f"{D}VIRTUAL_MODE": 2}),),
        ),
        "GpuVgpuUnlicensed", 17,
    ),
    Fault(Transition("lost", "a800-mig", lost_gpu="3"), "GpuLost", 7),
    Fault(Transition("silent", silent=FOREVER, kubernetes=OWN_DRIVER), "GpuMetricsAbsent", 7),
    Fault(Transition("stopped-driver", silent=FOREVER, driver=FOREVER), "GpuMetricsAbsent", 7),
    Fault(STUCK_DRIVER, "GpuOperandNotReady", 20, names_node=False),
    Fault(STUCK_DRIVER, "GpuMetricsAbsent", 27),
    Fault(
        Transition("no-plugin", values={CAPACITY: build_change(1, 0), ALLOCATABLE: build_change(1, 0)}),
        "GpuCapacityGone", 12,
    ),
    Fault(Transition("withheld", unallocatable=FOREVER), "GpuAllocatableBelowCapacity", 12),
    Fault(Transition("unready", unready=FOREVER), "GpuNodeDown", 7),
    Fault(
        Transition("certificate", values={KUBELET_CERTIFICATE: build_change(31e6, 2.5e6)}),
        "KubeletCertificateExpiring", 12,
    ),
    Fault(Transition("twice", repeats_job=True), "GpuScrapedTwice", 12),
)  # fmt: skip
