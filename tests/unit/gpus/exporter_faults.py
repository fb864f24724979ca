"""Wrong pages of metrics, a kind of fault each, made out of recorded ones (tests/recorded/exporter-pages)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).parents[2] / "recorded" / "exporter-pages"
D, P = "DCGM_FI_DEV_", "DCGM_FI_PROF_"
POD = "nvidia-dcgm-exporter-x7k2p"
Change = Callable[[str], str]
# Names of dcgm-exporter 1.x: exporters/prometheus-dcgm/dcgm-exporter/dcgm-exporter of NVIDIA/gpu-monitoring-tools.
OLDEST = {
    f"{D}SM_CLOCK": "dcgm_sm_clock",
    f"{D}MEM_CLOCK": "dcgm_memory_clock",
    f"{D}MEMORY_TEMP": "dcgm_memory_temp",
    f"{D}GPU_TEMP": "dcgm_gpu_temp",
    f"{D}POWER_USAGE": "dcgm_power_usage",
    f"{D}TOTAL_ENERGY_CONSUMPTION": "dcgm_total_energy_consumption",
    f"{D}GPU_UTIL": "dcgm_gpu_utilization",
    f"{D}FB_FREE": "dcgm_fb_free",
    f"{D}FB_USED": "dcgm_fb_used",
    f"{P}GR_ENGINE_ACTIVE": "dcgm_fi_prof_gr_engine_active",
    f"{P}DRAM_ACTIVE": "dcgm_fi_prof_dram_active",
}


@dataclass(frozen=True)
class Fault:
    """Hold a kind of fault: the recorded page, how it is made wrong, and the check that finds it, with a part of one of
    its names. `before` is what `gpu check-exporter` said until it was mended: None is that it found nothing."""

    kind: str
    page: str
    change: Change
    check: str
    name: str
    before: str | None
    repeated: bool = False


def read_page(name: str) -> str:
    return (PAGES / f"{name}.prom").read_text()


def replace(pattern: str, text: str) -> Change:
    def change(page: str) -> str:
        new_page, count = re.subn(pattern, text, page, flags=re.MULTILINE)
        assert count, pattern
        return new_page

    return change


def set_value(*values: tuple[str, str]) -> Change:
    def change(page: str) -> str:
        for name, value in values:
            page = replace(rf"^({name}\{{.*\}}) .*$", rf"\1 {value}")(page)
        return page

    return change


def name_as_oldest(page: str) -> str:
    """Name the metrics as 1.x did, with its labels."""
    lines = []
    for line in page.splitlines():
        name = line.split()[2] if line.startswith("#") else line.partition("{")[0]
        if name in OLDEST:
            lines.append(re.sub(r'\{gpu="(\d+)",UUID="([^"]+)".*\}', r'{gpu="\1",uuid="\2"}', line))
            lines[-1] = lines[-1].replace(name, OLDEST[name])
    return "\n".join([*lines, ""])


def add(text: str) -> Change:
    return lambda page: page + text


def add_series(label: str) -> Change:
    """Add every series of the temperature again, with one more label."""
    return replace(rf"^{D}GPU_TEMP\{{(.*)\}} (.*)$", rf"\g<0>\n{D}GPU_TEMP{{\1,{label}}} \2")


TYPE = f"# TYPE {D}GPU_TEMP gauge\n"
ERROR = f'{D}VGPU_PER_PROCESS_UTILIZATION{{gpu="0",UUID="GPU-a"}} ERROR - FAILED TO CONVERT TO STRING\n'
FAULTS = (
    Fault("only names of 1.x", "l4", name_as_oldest, "names", "dcgm_gpu_temp", "names"),
    Fault(
        "names of 1.x beside those of today", "l4", lambda page: page + name_as_oldest(page), "names",
        "dcgm_power_usage", None,
    ),
    Fault("the exporter's pod as host", "l4", replace('Hostname="node1"', f'Hostname="{POD}"'), "hosts", POD, None),
    Fault("no profiling field", "l4", replace(rf"^.*{P}.*\n", ""), "profiling", "(NVIDIA L4)", None),
    Fault(
        "MIG instances as GPUs", "a800-mig",
        replace(r'UUID="GPU-([^"]*)(.*),GPU_I_PROFILE="2g.20gb",GPU_I_ID="(\d)"', r'UUID="MIG-\3-\1\2'),
        "instances", "MIG-6-bda606e9", None,
    ),
    Fault(
        "utilisation without an engine", "t4-full-load",
        set_value((f"{D}GPU_UTIL", "99"), *((f"{P}{name}", "0.000000") for name in (
            "GR_ENGINE_ACTIVE", "PIPE_TENSOR_ACTIVE", "DRAM_ACTIVE"))),
        "contradictions", f"{D}GPU_UTIL is 99 %", None,
    ),
    Fault(
        "a blank of 64 bits", "l4", set_value((f"{D}MEMORY_TEMP", "9223372036854775794")), "blanks",
        f"{D}MEMORY_TEMP", "blanks",
    ),
    Fault("a blank of 32 bits", "l4", set_value((f"{D}GPU_TEMP", "2147483632")), "blanks", f"{D}GPU_TEMP", "blanks"),
    Fault(
        "a share in per cent", "t4-full-load", set_value((f"{P}GR_ENGINE_ACTIVE", "15.6205")), "blanks",
        f"{P}GR_ENGINE_ACTIVE", "blanks",
    ),
    Fault(
        "a rate as a counter", "a800-mig", replace("NVLINK_BANDWIDTH_TOTAL gauge", "NVLINK_BANDWIDTH_TOTAL counter"),
        "types", f"{D}NVLINK_BANDWIDTH_TOTAL", "types",
    ),
    Fault(
        "HELP of another unit", "l4",
        replace(f"^# TYPE {P}DRAM_ACTIVE", f"# HELP {P}DRAM_ACTIVE Memory active (in %).\n\\g<0>"),
        "units", f"{P}DRAM_ACTIVE", "units",
    ),
    Fault("series twice", "l4", add_series('zone="a"'), "duplicates", f"{D}GPU_TEMP", "duplicates"),
    Fault("no UUID", "l4", replace('UUID="[^"]*",', ""), "labels", "UUID (23 series)", "labels"),
    Fault("no host", "l4", replace(',Hostname="node1"', ""), "labels", "Hostname (23 series)", "labels"),
    Fault("no model", "l4", replace(',modelName="NVIDIA L4"', ""), "labels", "modelName (23 series)", "labels"),
    Fault("values that stand still", "l4", str, "cadence", "GPU-a8ee9348", "cadence", repeated=True),
    Fault("a row without a number", "l4", add(ERROR), "format", "line 47: ERROR - FAILED TO CONVERT", "refused"),
    Fault(
        "TYPE behind its series", "l4", replace(rf"^{TYPE}(.*\n)", rf"\1{TYPE}"), "order", f"{D}GPU_TEMP, line 8",
        "types",
    ),
    Fault("TYPE twice", "l4", replace(rf"^{TYPE}", f"{TYPE}{TYPE}"), "order", f"{D}GPU_TEMP, line 8", None),
)  # fmt: skip
