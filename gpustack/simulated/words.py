"""The words of `gpustack lab gpu set`: what each does to a GPU."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.simulated.state_text import Gpu

# What a GPU does, as shares of what it can: keys that its load sets. The rest follows: power, temperature, clocks.
# util, memutil in percent; used as a share of the memory; pcie and nvlink in bytes/s; the others from 0 to 1.
LOADS = {
    "idle": "",
    "inference": "util=46 memutil=31 used=0.62 gr=0.44 sm_active=0.33 sm_occ=0.18 tensor=0.17 dram=0.29 pcie_tx=9e8"
    " pcie_rx=1.4e9",
    "training": "util=98 memutil=62 used=0.86 gr=0.97 sm_active=0.88 sm_occ=0.46 tensor=0.52 dram=0.58 pcie_tx=2.1e9"
    " pcie_rx=4.8e9",
}
# The same of a GPU that dcgmproftester works on, by the DCGM field that it is about; used in MiB. Rough: NVIDIA's
# documentation shows 0.93 for tensor cores, the others are near 1.
FIELD_LOADS = {
    1001: "util=100 memutil=2 used=900 gr=1 sm_active=0.98 sm_occ=0.95",
    1002: "util=100 memutil=2 used=900 gr=1 sm_active=0.98 sm_occ=0.5",
    1003: "util=100 memutil=2 used=900 gr=1 sm_active=0.98 sm_occ=0.95",
    1004: "util=100 memutil=60 used=2400 gr=1 sm_active=0.98 sm_occ=0.15 tensor=0.93 dram=0.6",
    1005: "util=100 memutil=88 used=2400 gr=1 sm_active=0.95 sm_occ=0.9 dram=0.85",
    1006: "util=100 memutil=2 used=900 gr=1 sm_active=0.98 sm_occ=0.5 fp64=0.95",
    1007: "util=100 memutil=2 used=900 gr=1 sm_active=0.98 sm_occ=0.5 fp32=0.95",
    1008: "util=100 memutil=2 used=900 gr=1 sm_active=0.98 sm_occ=0.5 fp16=0.95",
    1009: "util=100 memutil=8 used=1400 gr=1 sm_active=0 pcie_tx=2.4e10",
    1010: "util=100 memutil=8 used=1400 gr=1 sm_active=0 pcie_rx=2.4e10",
}
LOAD_KEYS = tuple(word.partition("=")[0] for word in LOADS["training"].split())
# Numbers that may be set as they are. Units as gpustack/simulated/driver/state.h says.
NUMBERS = (
    *("used", "reserved", "temp", "memtemp", "power", "limit", "util", "memutil", "sm", "memclk", "video", "gr"),
    *("sm_active", "sm_occ", "tensor", "dram", "pcie_tx", "pcie_rx", "energy", "pstate", "ecc", "ecc_sbe", "ecc_dbe"),
    *("ecc_sbe_agg", "ecc_dbe_agg", "ecc_dbe_sram", "remap_u", "remap_c", "remap_pending", "remap_fail", "replay"),
    *("throttle", "viol_power", "viol_thermal", "viol_sw_thermal", "viol_brake", "nvlink_tx", "nvlink_rx", "recovery"),
    *("exporter_silent", "exporter_delay"),
)
ALLOWED = f"""\
lost, found              it falls off the bus (with Xid 79), it is back
xid=CODE                 the driver reports this Xid
load=LOAD                {", ".join(LOADS)}
temp=DEGREES             92 is hot enough to slow down
power-brake              its clocks are held down by the power brake
ecc-dbe=N, ecc-sbe=N     uncorrectable, corrected memory errors so far
exporter-uuid=UUID       the exporter, and nothing else, shows this UUID
recover                  as it was at first
KEY=NUMBER               {", ".join(NUMBERS)}"""


@dataclass(frozen=True)
class Set:
    """A GPU after the words, and the Xid codes that the driver reports now; 0 ends what was reported before."""

    gpu: Gpu
    xids: tuple[int, ...] = ()


def apply(gpu: Gpu, words: Sequence[str]) -> Set:
    """Raises LabError with every word that cannot be, and with all that can."""
    done, wrong = Set(gpu), []
    for word in words:
        try:
            done = _one(done, word)
        except ValueError as error:
            wrong.append(f"{word}: {error}")
    if wrong or not words:
        why = "\n".join([*wrong, "There is:", ALLOWED])
        raise LabError(
            "lab-bad-gpu-word", "A GPU cannot be set so.", why, Command("gpustack", "lab", "gpu", "set", "--help")
        )
    return done


def _one(at: Set, word: str) -> Set:
    key, equals, value = word.partition("=")
    key = key.replace("-", "_")
    if not equals:
        return _plain(at, key)
    if key == "xid":
        code = _whole(value, least=1, most=999)
        return Set(at.gpu.having(xid=str(code)), (*at.xids, code))
    if key == "load":
        return Set(_loaded(at.gpu, value), at.xids)
    if key == "exporter_uuid":
        return Set(at.gpu.having(exporter_uuid=_uuid(value)), at.xids)
    if key in NUMBERS:
        return Set(at.gpu.having(**{key: _number(value)}), at.xids)
    raise ValueError("there is no such key")


def _plain(at: Set, word: str) -> Set:
    if word == "lost":
        return Set(at.gpu.having(lost="1", xid="79"), (*at.xids, 79))
    if word == "found":
        return Set(at.gpu.without("lost"), at.xids)
    if word == "power_brake":
        return Set(at.gpu.having(viol_brake="1"), at.xids)
    if word == "recover":
        ended = (0,) if "xid" in at.gpu.live else ()
        return Set(Gpu(at.gpu.facts), (*at.xids, *ended))
    raise ValueError("there is no such word")


def _loaded(gpu: Gpu, load: str) -> Gpu:
    if load not in LOADS:
        raise ValueError(f"a load is one of {', '.join(LOADS)}")
    values = {key: float(value) for key, _, value in (word.partition("=") for word in LOADS[load].split())}
    if "used" in values:
        values["used"] = round(values["used"] * float(gpu.facts.get("mem", 0)))
    return gpu.without(*LOAD_KEYS).having(**{key: f"{value:.10g}" for key, value in values.items()})


def _number(text: str) -> str:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (0 <= number < math.inf):
        raise ValueError("not a number from 0 on")
    return f"{number:.15g}"


def _whole(text: str, *, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise ValueError(f"not a whole number from {least} to {most}")
    return int(text)


def _uuid(text: str) -> str:
    if not text.startswith("GPU-") or not text.isascii() or not text.isprintable() or " " in text or "=" in text:
        raise ValueError("a UUID begins with GPU-")
    return text
