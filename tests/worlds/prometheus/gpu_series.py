"""Series of GPUs for tests, as Prometheus has them of dcgm-exporter."""

from datetime import UTC, datetime
from itertools import chain

from gpustack.gpus.activity import Activity, build_activity
from gpustack.gpus.contract import Contract
from gpustack.gpus.dependents import Dependents
from gpustack.gpus.field_states import FieldState
from gpustack.gpus.fleet import Fleet, build_fleet
from gpustack.gpus.series import Metric, Metrics
from gpustack.gpus.silent_alerts import SilentAlert
from gpustack.gpus.verdict import Verdict
from gpustack.health.fleet import Health, build_health
from gpustack.health.host_sources import HostSources
from gpustack.health.sources import HeardGpu, NodeOffer, Sources
from gpustack.metrics.prometheus import Series
from gpustack.metrics.readings import build_readings
from gpustack.probes.kubernetes.node_records import ProvenGpus
from gpustack.vocabulary.fields import find_fields

LABELS = {
    "job": "nvidia-dcgm-exporter",
    "namespace": "gpu-operator",
    "pod": "nvidia-dcgm-exporter-x7k2p",
    "container": "nvidia-dcgm-exporter",
    "modelName": "NVIDIA H100 80GB HBM3",
    "DCGM_FI_DRIVER_VERSION": "595.91.07",
}
BUSY = {
    "PROF_GR_ENGINE_ACTIVE": 0.99,
    "PROF_SM_ACTIVE": 0.85,
    "PROF_PIPE_TENSOR_ACTIVE": 0.4,
    "PROF_DRAM_ACTIVE": 0.5,
    "FB_USED": 60000,
    "POWER_USAGE": 640,
    "ENFORCED_POWER_LIMIT": 700,
    "CLOCK_THROTTLE_REASONS": 4,
}
HEALTHY = {
    "FB_TOTAL": 81559,
    "PCIE_LINK_GEN": 5,
    "PCIE_LINK_WIDTH": 16,
    "PCIE_MAX_LINK_GEN": 5,
    "PCIE_MAX_LINK_WIDTH": 16,
    "ECC_CURRENT": 1,
    "GPU_TEMP": 40,
    "ROW_REMAP_FAILURE": 0,
    "ROW_REMAP_PENDING": 0,
    "GET_GPU_RECOVERY_ACTION": 0,
}


def build_gpu_series(node: str, index: int, labels: dict[str, str] | None = None, /, **values: float) -> list[Series]:
    """Make the series of a healthy H100; `values` by field change it, NaN removes one."""
    labels_of_gpu = {**LABELS, "hostname": node, "gpu": str(index), "UUID": f"GPU-{node}-{index}", **(labels or {})}
    fields = HEALTHY | values
    return [
        Series(
            {"__name__": f"DCGM_FI_{'' if name.startswith('PROF_') else 'DEV_'}{name}", **labels_of_gpu},
            ((1000.0, value),),
        )
        for name, value in fields.items()
        if value == value
    ]


def make_fleet(*series: list[Series]) -> Fleet:
    return build_fleet(build_readings(chain(*series), {}), time=1010.0)


def make_mixed_health() -> Health:
    """Make the health of two nodes: a GPU that fell off the bus and is withheld, one that the driver wants reset, one
    that was not proven, and one that is silent. The kernel log of a host is missing."""
    pod = {"exported_namespace": "team-a", "exported_pod": "train-0", "exported_container": "main"}
    series = [
        *build_gpu_series("gpu1", 0, pod),
        *build_gpu_series("gpu1", 1, XID_ERRORS=79),
        *build_gpu_series("gpu2", 0, GET_GPU_RECOVERY_ACTION=1),
        *build_gpu_series("gpu2", 1),
    ]
    proven_gpus = ProvenGpus(datetime(2026, 11, 30, 0, 10, tzinfo=UTC), frozenset({"GPU-gpu2-0", "GPU-gpu2-2"}))
    doubt = "The kernel log is missing of gpu2: gpu2 was not reached: no route to it."
    hosts = HostSources(proven_gpus={"gpu2": proven_gpus}, doubts=(doubt,))
    offers = {
        "gpu1": NodeOffer({"nvidia_com_gpu": 2}, {"nvidia_com_gpu": 1}),
        "gpu2": NodeOffer({"nvidia_com_gpu": 3}, {"nvidia_com_gpu": 3}),
    }
    heard_gpus = (HeardGpu("gpu2", "GPU-gpu2-2", "NVIDIA H100 80GB HBM3"),)
    sharing = {"gpu1": "none", "gpu2": "none"}
    return build_health(
        Sources(build_readings(series, {}), offers, frozenset({"gpu2"}), sharing, heard_gpus, time=1010.0, hosts=hosts)
    )


def make_mixed_fleet() -> Fleet:
    """Make a fleet of two nodes: a GPU in use, one that fell off the bus, one with fewer lanes, one that says
    little."""
    pod = {"exported_namespace": "team-a", "exported_pod": "train-0", "exported_container": "main"}
    little = dict.fromkeys(HEALTHY, float("nan")) | {"GPU_TEMP": 35.0}
    return make_fleet(
        build_gpu_series("gpu1", 0, pod),
        build_gpu_series("gpu1", 1, XID_ERRORS=79),
        build_gpu_series("gpu1", 2, PCIE_LINK_WIDTH=8),
        build_gpu_series("gpu2", 0, {"modelName": "NVIDIA GeForce RTX 4090"}, **little),
        build_gpu_series("gpu2", 1, {"job": "another"}),
        build_gpu_series("gpu2", 1),
    )


def make_activity(*series: list[Series]) -> Activity:
    return build_activity(build_readings(chain(*series), {}))


def make_working_gpus() -> Activity:
    """Make two GPUs of a pod, an idle one, and one whose exporter does not measure SMs."""
    pod = {"exported_namespace": "team-a", "exported_pod": "train-0", "exported_container": "main"}
    idle = dict.fromkeys(BUSY, 0.0) | {"POWER_USAGE": 71, "ENFORCED_POWER_LIMIT": 700, "CLOCK_THROTTLE_REASONS": 1}
    no_sms = {name: float("nan") for name in BUSY if name.startswith("PROF_")} | {"PROF_GR_ENGINE_ACTIVE": 0.3}
    t4 = {"modelName": "Tesla T4", "exported_namespace": "team-b", "exported_pod": "serve-0"}
    return make_activity(
        build_gpu_series("gpu1", 0, pod, **BUSY),
        build_gpu_series("gpu1", 1, pod, **BUSY | {"PROF_SM_ACTIVE": 0.75, "CLOCK_THROTTLE_REASONS": 1 | 32}),
        build_gpu_series("gpu1", 2, **idle),
        build_gpu_series(
            "gpu2",
            0,
            t4,
            **BUSY | no_sms | {"POWER_USAGE": 60, "ENFORCED_POWER_LIMIT": 70, "FB_TOTAL": 15360, "FB_USED": 9000},
        ),
    )


def make_metrics() -> Metrics:
    """Make a metric as it should be and one of which nothing is known."""
    (field,) = find_fields("DCGM_FI_DEV_FB_USED")
    metric = Metric(field.name, 8, field, "bytes", 0, 8.5e10)
    return Metrics((metric, Metric("DCGM_FI_DEV_OF_TOMORROW", 8, None, "", None, None)), ("one is not known here",))


NVLINK = "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"
ENGINE, RESERVATION = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_FB_RESERVED"
CONTRACT = Contract(
    "http://gpu1:9400/metrics",
    41,
    8,
    3,
    (
        Verdict("labels", "ok", "GPU, UUID, model and host"),
        Verdict("types", "wrong", "Metrics have another TYPE than what they are.", (NVLINK,)),
        Verdict("pods", "unknown", "No GPU is in use."),
        Verdict("fields", "unknown", "1 of 3 fields that commands, alerts or dashboards read", (ENGINE, RESERVATION)),
    ),
    (
        FieldState(RESERVATION, "missing", Dependents((), ("GpuMemoryGrowth",), ("GPU detail",))),
        FieldState(
            NVLINK,
            "present",
            Dependents(("gpu list",), (), ("GPU detail",)),
            ("Metrics have another TYPE than what they are.",),
        ),
        FieldState(
            ENGINE, "missing", Dependents(("gpu top", "profile"), ("GpuIdleAllocated",), ("GPU detail", "GPU job"))
        ),
    ),
    (
        SilentAlert("GpuHwThermalSlowdown", "NVIDIA H100 80GB HBM3", (("DCGM_A",), ("DCGM_B", "{pod}"))),
        SilentAlert("GpuXidCritical", "NVIDIA H100 80GB HBM3", (("DCGM_FI_DEV_XID_ERRORS",),), "unknown"),
    ),
)
