"""What dcgm-exporter prints of some models, for the counters of ours: the shape, with made values.

Which model has which field: gpustack/versions/dcgm-fields.csv, column `absent`, with its sources; the data sheets for
NVLink and encoders. In MIG mode the exporter prints instances only, each with the fields of the board too
(NVIDIA/dcgm-exporter#561 and #713), without utilisation (#430). None of it was recorded on hardware.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from tests.contract.promql import exported
from tests.contract.written_series import COUNTERS, OTHERS, value

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
    """One GPU on a node of its own. `absent` are beginnings of names; `xid`: it has had one."""

    key: str
    model: str
    absent: Sequence[str]
    instances: Sequence[tuple[str, str]] = (("", ""),)
    xid: str = ""

    @property
    def node(self) -> str:
        return self.key.lower()

    @property
    def pod(self) -> str:
        return f"p-{self.node}"


EXPORTERS = (
    Exporter("A100", "NVIDIA A100-SXM4-80GB", (*NO_ENCODER, *NO_MARGIN, *NO_RETIREMENT), xid="31"),
    Exporter("H100", "NVIDIA H100 80GB HBM3", (*NO_ENCODER, *NO_RETIREMENT)),
    Exporter("T4", "Tesla T4", (*NO_MEMORY_SENSOR, *NO_MARGIN, *NO_NVLINK, *BEFORE_AMPERE)),
    Exporter("L40S", "NVIDIA L40S", (*NO_MEMORY_SENSOR, *NO_NVLINK, *NO_RETIREMENT)),
    Exporter(
        "MIG", "NVIDIA H100 80GB HBM3", (*NO_RETIREMENT, *MIG), instances=(("1g.10gb", "7"), ("3g.40gb", "2"))
    ),
)  # fmt: skip


def openmetrics(first: int, last: int, step: int) -> str:
    """All of them as Prometheus stores them, between two times in seconds, with the labels that its targets add."""
    lines = [
        f"{series} {figure} {at}\n"
        for at in range(first, last + 1, step)
        for series, figure in at_age(at - first).items()
    ]
    return "".join([*lines, "# EOF\n"])


def at_age(age: int) -> dict[str, str]:
    """By series; what is of no node is there once."""
    return dict(chain.from_iterable((*of_gpus(exporter, age), *beside(exporter, age)) for exporter in EXPORTERS))


def of_gpus(one: Exporter, age: int) -> Iterator[tuple[str, str]]:
    """Series and value. The exporter's own namespace and pod take the labels of the workload's, which are exported_…"""
    target = f'job="nvidia-dcgm-exporter",namespace="gpu-operator",pod="e-{one.node}",instance="10.0.0.1:9400"'
    gpu = f'gpu="0",UUID="GPU-{one.node}",device="nvidia0",modelName="{one.model}",hostname="{one.node}"'
    owner = f'exported_namespace="n",exported_pod="{one.pod}",exported_container="main"'
    for name, counts in exported().items():
        if name.startswith(tuple(one.absent)) or (name == f"{DEV}XID_ERRORS" and not one.xid):
            continue  # the last Xid has no series before the first one
        xid = f',xid="{one.xid}"' if name.startswith("DCGM_EXP_XID") and one.xid else ""
        for profile, id in one.instances:
            instance = f',GPU_I_PROFILE="{profile}",GPU_I_ID="{id}"' if profile else ""
            yield f"{name}{{{target},{gpu},{owner}{instance}{xid}}}", counted(name, age) if counts else value(name)
            if name == f"{REASON}SW_POWER_CAP_NS":
                yield recorded(one, instance), str(age * RATE / 1e9)


def counted(name: str, age: int) -> str:
    """A hundred million a second of nanoseconds and millijoules: a tenth of the time, 100 kW. One of anything else."""
    return str(age * RATE if name.endswith(("_NS", "_VIOLATION", "_CONSUMPTION")) else age)


def recorded(one: Exporter, instance: str) -> str:
    """What a rule would have recorded of it until now, without which a rate of it is 0."""
    gpu = f'node="{one.node}",UUID="GPU-{one.node}",gpu="0",modelName="{one.model}"'
    return f'gpustack:gpu_throttled:seconds_total{{{gpu}{instance},reason="power_cap"}}'


def beside(one: Exporter, age: int) -> Iterator[tuple[str, str]]:
    """Of its node: kube-state-metrics, kubelet, node-exporter, and an application in the pod."""
    states = ((series, value(series.partition("{")[0])) for series in OTHERS)
    for series, figure in (*states, *((series, str(age)) for series in COUNTERS)):
        here = series.replace('"gpu1"', f'"{one.node}"').replace('pod="p"', f'pod="{one.pod}"')
        yield here.replace('pod="e"', f'pod="e-{one.node}"').replace('pod="h"', f'pod="h-{one.node}"'), figure
