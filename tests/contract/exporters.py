"""Exporters print the counters of ours for some models: the shape is real, the values are made. Which model has which
field stands in gpustack/versions/dcgm-fields.csv, column `absent`, with its sources; NVLink and encoders are from the
data sheets. T4 and L40S send 0 as the temperature of their memory, which has no sensor: tests/recorded/exporter-pages.
In MIG mode the exporter prints instances only, each with the fields of the board too
(NVIDIA/dcgm-exporter#561 and #713), without utilisation (#430). None of it was recorded on hardware."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from tests.contract.promql import read_exported
from tests.contract.written_series import COUNTERS, OTHER_SERIES, choose_value

DEV, PROF, REASON = "DCGM_FI_DEV_", "DCGM_FI_PROF_", "DCGM_FI_DEV_CLOCKS_EVENT_REASON_"
RATE = 10**8
NO_ENCODER = (f"{DEV}ENC_UTIL",)
NO_MEMORY_SENSOR = (f"{DEV}MEMORY_TEMP",)
NO_MARGIN = (f"{DEV}GPU_TEMP_LIMIT",)
NO_NVLINK = (f"{DEV}NVLINK_", f"{PROF}NVLINK_", f"{DEV}FABRIC_MANAGER")
NO_RETIREMENT = (f"{DEV}RETIRED_",)
NO_REMAPPING = (
    f"{DEV}UNCORRECTABLE_REMAPPED", f"{DEV}CORRECTABLE_REMAPPED", f"{DEV}ROW_REMAP_", f"{DEV}BANKS_REMAP",
)  # fmt: skip
BEFORE_AMPERE = (*NO_REMAPPING, f"{DEV}THRESHOLD_SRM", f"{DEV}MEMORY_UNREPAIRABLE", REASON)
MIG = (
    f"{DEV}GPU_UTIL", f"{DEV}MEM_COPY_UTIL", f"{DEV}ENC_UTIL", f"{DEV}DEC_UTIL", f"{PROF}PCIE_", *NO_NVLINK[:2],
    *NO_REMAPPING,
)  # fmt: skip


@dataclass(frozen=True)
class Exporter:
    """An exporter of one GPU on a node of its own. `absent` are beginnings of names, and `empty` of those with 0
    in place of a value; `xid`: it has had one."""

    key: str
    model: str
    absent: Sequence[str]
    instances: Sequence[tuple[str, str]] = (("", ""),)
    xid: str = ""
    empty: Sequence[str] = ()

    @property
    def node(self) -> str:
        return self.key.lower()

    @property
    def pod(self) -> str:
        return f"p-{self.node}"


EXPORTERS = (
    Exporter("A100", "NVIDIA A100-SXM4-80GB", (*NO_ENCODER, *NO_MARGIN, *NO_RETIREMENT), xid="31"),
    Exporter("H100", "NVIDIA H100 80GB HBM3", (*NO_ENCODER, *NO_RETIREMENT)),
    Exporter("T4", "Tesla T4", (*NO_MARGIN, *NO_NVLINK, *BEFORE_AMPERE), empty=NO_MEMORY_SENSOR),
    Exporter("L40S", "NVIDIA L40S", (*NO_NVLINK, *NO_RETIREMENT), empty=NO_MEMORY_SENSOR),
    Exporter(
        "MIG", "NVIDIA H100 80GB HBM3", (*NO_RETIREMENT, *MIG), instances=(("1g.10gb", "7"), ("3g.40gb", "2"))
    ),
)  # fmt: skip


def render_openmetrics(first: int, last: int, step: int) -> str:
    """Render all series as Prometheus stores them, between two times in seconds, with the labels that its targets
    add."""
    lines = [
        f"{series} {figure} {index}\n"
        for index in range(first, last + 1, step)
        for series, figure in list_series(index - first).items()
    ]
    return "".join([*lines, "# EOF\n"])


def list_series(age: int) -> dict[str, str]:
    """List values by series. A series that belongs to no node is there once."""
    return dict(
        chain.from_iterable(
            (*list_gpu_series(exporter, age), *list_node_series(exporter, age)) for exporter in EXPORTERS
        )
    )


def list_gpu_series(exporter: Exporter, age: int) -> Iterator[tuple[str, str]]:
    """List series and values of a GPU. The labels of the workload are exported_…; namespace and pod are the exporter's
    own."""
    target = f'job="nvidia-dcgm-exporter",namespace="gpu-operator",pod="e-{exporter.node}",instance="10.0.0.1:9400"'
    gpu = f'gpu="0",UUID="GPU-{exporter.node}",device="nvidia0",modelName="{exporter.model}",hostname="{exporter.node}"'
    owner = f'exported_namespace="n",exported_pod="{exporter.pod}",exported_container="main"'
    for name, counts in read_exported().items():
        if name.startswith(tuple(exporter.absent)) or (name == f"{DEV}XID_ERRORS" and not exporter.xid):
            continue  # the last Xid has no series before the first one
        xid = f',xid="{exporter.xid}"' if name.startswith("DCGM_EXP_XID") and exporter.xid else ""
        for profile, id in exporter.instances:
            instance = f',GPU_I_PROFILE="{profile}",GPU_I_ID="{id}"' if profile else ""
            yield (
                f"{name}{{{target},{gpu},{owner}{instance}{xid}}}",
                "0"
                if name.startswith(tuple(exporter.empty))
                else compute_count(name, age)
                if counts
                else choose_value(name),
            )
            if name == f"{REASON}SW_POWER_CAP_NS":
                yield format_recorded(exporter, instance), str(age * RATE / 1e9)


def compute_count(name: str, age: int) -> str:
    """Compute a counter: 10^8 a second of nanoseconds and millijoules (a tenth of the time, 100 kW), and 1 of anything
    else."""
    return str(age * RATE if name.endswith(("_NS", "_VIOLATION", "_CONSUMPTION")) else age)


def format_recorded(exporter: Exporter, instance: str) -> str:
    """Format the series that a rule would have recorded until now, without which a rate of it is 0."""
    gpu = f'node="{exporter.node}",UUID="GPU-{exporter.node}",gpu="0",modelName="{exporter.model}"'
    return f'gpustack:gpu_throttled:seconds_total{{{gpu}{instance},reason="power_cap"}}'


def list_node_series(exporter: Exporter, age: int) -> Iterator[tuple[str, str]]:
    """List the series of a node: kube-state-metrics, kubelet, node-exporter, and an application in the pod."""
    states = ((series, choose_value(series.partition("{")[0])) for series in OTHER_SERIES)
    for series, figure in (*states, *((series, str(age)) for series in COUNTERS)):
        renamed_series = series.replace('"gpu1"', f'"{exporter.node}"').replace('pod="p"', f'pod="{exporter.pod}"')
        yield (
            renamed_series.replace('pod="e"', f'pod="e-{exporter.node}"').replace(
                'pod="h"', f'pod="h-{exporter.node}"'
            ),
            figure,
        )
