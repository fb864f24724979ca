"""The words of `gpustack lab gpu set`, and the effect of each on a GPU."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack_lab.simulated.state_text import Gpu

# Activity of a GPU under each load, as shares of its maximum. Power, temperature and clocks follow from it.
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
# Numbers that may be set as they are. Units as gpustack_lab/simulated/driver/state.h says.
NUMBERS = (
    *("used", "reserved", "temp", "memtemp", "power", "limit", "util", "memutil", "sm", "memclk", "video", "gr"),
    *("sm_active", "sm_occ", "tensor", "dram", "pcie_tx", "pcie_rx", "energy", "pstate", "ecc", "ecc_sbe", "ecc_dbe"),
    *("ecc_sbe_agg", "ecc_dbe_agg", "ecc_dbe_sram", "remap_u", "remap_c", "remap_pending", "remap_fail", "replay"),
    *("throttle", "viol_power", "viol_thermal", "viol_sw_thermal", "viol_brake", "nvlink_tx", "nvlink_rx", "recovery"),
    *("exporter_silent", "exporter_delay", "compute_mode"),
)
WORD_HELP = f"""\
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
class GpuChange:
    """Describe a GPU after the words, and the Xid codes that the driver reports now; 0 ends the report of earlier
    ones."""

    gpu: Gpu
    xids: tuple[int, ...] = ()


def apply(gpu: Gpu, words: Sequence[str]) -> GpuChange:
    """Apply words to a GPU. Raise LabError with every impossible word, and with all possible ones."""
    change, reasons = GpuChange(gpu), []
    for word in words:
        try:
            change = _apply_word(change, word)
        except ValueError as error:
            reasons.append(f"{word}: {error}")
    if reasons or not words:
        reason = "\n".join([*reasons, "There is:", WORD_HELP])
        raise LabError(
            "lab-bad-gpu-word", "A GPU cannot be set so.", reason, Command("gpustack", "lab", "gpu", "set", "--help")
        )
    return change


def _apply_word(change: GpuChange, word: str) -> GpuChange:
    key, equals, value = word.partition("=")
    key = key.replace("-", "_")
    if not equals:
        return _apply_plain_word(change, key)
    if key == "xid":
        code = _parse_whole(value, minimum=1, maximum=999)
        return GpuChange(change.gpu.replace_live(xid=str(code)), (*change.xids, code))
    if key == "load":
        return GpuChange(_apply_load(change.gpu, value), change.xids)
    if key == "exporter_uuid":
        return GpuChange(change.gpu.replace_live(exporter_uuid=_parse_uuid(value)), change.xids)
    if key in NUMBERS:
        return GpuChange(change.gpu.replace_live(**{key: _parse_number(value)}), change.xids)
    raise ValueError("there is no such key")


def _apply_plain_word(change: GpuChange, word: str) -> GpuChange:
    if word == "lost":
        return GpuChange(change.gpu.replace_live(lost="1", xid="79"), (*change.xids, 79))
    if word == "found":
        return GpuChange(change.gpu.remove_live("lost"), change.xids)
    if word == "power_brake":
        return GpuChange(change.gpu.replace_live(viol_brake="1"), change.xids)
    if word == "recover":
        end_codes = (0,) if "xid" in change.gpu.live else ()
        return GpuChange(Gpu(change.gpu.facts), (*change.xids, *end_codes))
    raise ValueError("there is no such word")


def _apply_load(gpu: Gpu, load: str) -> Gpu:
    if load not in LOADS:
        raise ValueError(f"a load is one of {', '.join(LOADS)}")
    values = {key: float(value) for key, _, value in (word.partition("=") for word in LOADS[load].split())}
    if "used" in values:
        values["used"] = round(values["used"] * float(gpu.facts.get("mem", 0)))
    return gpu.remove_live(*LOAD_KEYS).replace_live(**{key: f"{value:.10g}" for key, value in values.items()})


def _parse_number(text: str) -> str:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (0 <= number < math.inf):
        raise ValueError("not a number from 0 on")
    return f"{number:.15g}"


def _parse_whole(text: str, *, minimum: int, maximum: int) -> int:
    if not (text.isascii() and text.isdigit() and minimum <= int(text) <= maximum):
        raise ValueError(f"not a whole number from {minimum} to {maximum}")
    return int(text)


def _parse_uuid(text: str) -> str:
    if not text.startswith("GPU-") or not text.isascii() or not text.isprintable() or " " in text or "=" in text:
        raise ValueError("a UUID begins with GPU-")
    return text
