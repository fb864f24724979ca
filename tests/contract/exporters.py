"""What dcgm-exporter prints of some models, for the counters of ours: the shape, with made values.

Which model has which field: gpustack/versions/dcgm-fields.csv, column `absent`, with its sources; the data sheets for
NVLink and encoders. In MIG mode the exporter prints instances only, each with the fields of the board too
(NVIDIA/dcgm-exporter#561 and #713), without utilisation (#430). None of it was recorded on hardware.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.contract.promql import exported
from tests.contract.written_series import COUNTERS, OTHERS, value

DEV, PROF, REASON = "DCGM_FI_DEV_", "DCGM_FI_PROF_", "DCGM_FI_DEV_CLOCKS_EVENT_REASON_"
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


def exposition(one: Exporter) -> str:
    """The text of /metrics now. The last Xid has no series before the first one."""
    names = [name for name in exported() if not name.startswith(tuple(one.absent))]
    return "".join(f"{line}\n" for name in names for line in samples(one, name))


def samples(one: Exporter, name: str) -> Iterator[str]:
    if name == f"{DEV}XID_ERRORS" and not one.xid:
        return
    labels = f'gpu="0",UUID="GPU-{one.node}",device="nvidia0",modelName="{one.model}",hostname="{one.node}"'
    labels += f',namespace="n",pod="{one.pod}",container="main"'
    more = f',window_size_in_ms="300000",xid="{one.xid}"' if name.startswith("DCGM_EXP_XID") and one.xid else ""
    yield f"# TYPE {name} {'counter' if exported()[name] else 'gauge'}"
    for profile, id in one.instances:
        instance = f',GPU_I_PROFILE="{profile}",GPU_I_ID="{id}"' if profile else ""
        yield f"{name}{{{labels}{instance}{more}}} {figure(name)}"


def figure(name: str) -> str:
    """A counter grows a hundred million a second: a tenth of a second, where it counts nanoseconds."""
    return f"{time.time() * 1e8:.0f}" if exported()[name] else value(name)


def beside(one: Exporter) -> str:
    """Of its node: kube-state-metrics, kubelet, node-exporter, and an application in the pod."""
    states = [f"{series} {value(series.partition('{')[0])}" for series in OTHERS if not series.startswith("up{")]
    counted = [f"{series} {time.time():.3f}" for series in COUNTERS]
    text = "".join(f"{line}\n" for line in [*states, *counted])
    for word, here in (('"gpu1"', one.node), ('pod="e"', f"e-{one.node}"), ('pod="h"', f"h-{one.node}")):
        text = text.replace(word, f'"{here}"' if word == '"gpu1"' else f'pod="{here}"')
    return text.replace('pod="p"', f'pod="{one.pod}"')
