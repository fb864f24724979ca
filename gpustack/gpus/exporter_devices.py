"""Checks of the GPUs of a page: whether they have what tells work from waiting, whose they are, and new values."""

import re
from collections.abc import Iterator, Sequence
from math import isfinite

from gpustack.events import format_count
from gpustack.gpus.device import Device, list_devices
from gpustack.gpus.verdict import Verdict, build_verdict
from gpustack.metrics.exposition import Family
from gpustack.metrics.gpus import extract_gpu
from gpustack.metrics.readings import build_readings
from gpustack.vocabulary.fields import DEV, PROF

LEAST_GAP = 35  # seconds between the two reads of a page
# A board that is on changes these all the time, also without work. A vGPU guest has neither.
MOVING_FIELDS = (f"{DEV}TOTAL_ENERGY_CONSUMPTION", f"{DEV}POWER_USAGE")
# Boards for data centres from Volta on, of which DCGM has the profiling fields (its maintainer in
# NVIDIA/dcgm-exporter#5). It has them of some boards for workstations, and of no GeForce.
PROFILED_MODEL = re.compile(
    r"\b(V100|T4|A2|A10|A16|A30|A40|A100|A800|L2|L4|L20|L40S?|H20|H100|H200|H800|GH200|B200|B300|GB200)\b"
)
GUEST_MODEL = re.compile(r"GRID|-\d+[ABCQ]$")
"""A vGPU has the name of its board, with its memory in GB and the letter of its licence: A100-10C."""


def list_page_devices(families: Sequence[Family]) -> list[Device]:
    """List the GPUs and MIG instances of a page with their readings."""
    series = [entry for family in families for entry in family.series]
    return list_devices(build_readings(series, {family.name: (family.help,) for family in families}))


def check_profiling(devices: Sequence[Device]) -> Iterator[Verdict]:
    """Check for the profiling fields, without which a GPU that works and one that only waits look the same."""
    profiled_devices = [device for device in devices if any(name.startswith(PROF) for name in device.readings)]
    boards = {device.name for device in profiled_devices}
    models = {device.gpu.model for device in profiled_devices} - {""}
    lacking = {device.name: device.gpu.model for device in devices if device.name not in boards}
    names = {name: f"{name} ({model})" if model else name for name, model in lacking.items()}
    wrong_boards = tuple(names[name] for name, model in lacking.items() if model in models or is_profiled(model))
    other_boards = tuple(text for text in names.values() if text not in wrong_boards)
    if wrong_boards:
        message = (
            f"No {PROF}* of boards that have them: a pause, another profiler, a missing module of DCGM, or the list of "
            "counters. gpu top shows utilisation in their place."
        )
        yield Verdict("profiling", "wrong", message, wrong_boards)
    if other_boards:
        message = f"No {PROF}*: DCGM has none of many such boards. gpu top shows utilisation in their place."
        yield Verdict("profiling", "unknown", message, other_boards)
    if not lacking:
        yield Verdict("profiling", "ok", "there for all GPUs")


def is_profiled(model: str) -> bool:
    return bool(PROFILED_MODEL.search(model)) and not GUEST_MODEL.search(model)


def check_pods(devices: Sequence[Device]) -> Iterator[Verdict]:
    """Check the mapping to pods. Without any GPU in use it looks the same as an exporter that does not ask the
    kubelet."""
    pods = {owner for device in devices for owner in device.owners}
    working = tuple(device.label for device in devices if device.in_use is None)
    if pods:
        yield Verdict("pods", "ok", f"GPUs of {format_count(len(pods), 'pod')}")
    elif working:
        message = "GPUs are not idle, and none has a pod: the exporter does not ask the kubelet, or no pod uses them."
        yield Verdict("pods", "unknown", message, working)
    else:
        yield Verdict("pods", "unknown", "No GPU is in use, or the exporter does not ask the kubelet whose it is.")


def check_cadence(first: Sequence[Family], later: Sequence[Family] | None, interval: float) -> Iterator[Verdict]:
    if later is None:
        yield Verdict("cadence", "unknown", "It was asked once: only a later answer tells whether values are new.")
        return
    if interval < LEAST_GAP:
        yield Verdict("cadence", "unknown", f"Exporters collect every 30 s: ask again after {LEAST_GAP} s at least.")
        return
    before, after = index_values(first), index_values(later)
    common_keys = before.keys() & after.keys()
    unchanged_gpus = {key[0] for key in common_keys} - {key[0] for key in common_keys if after[key] != before[key]}
    moving_gpus = {
        device.name for device in list_page_devices(first) if any(name in device.readings for name in MOVING_FIELDS)
    }
    if not common_keys:
        yield Verdict("cadence", "unknown", "Another exporter answered the second time.")
    elif unchanged_gpus and not unchanged_gpus & moving_gpus:
        message = f"Nothing changed within {interval:.0f} s, as of an idle GPU without {' and '.join(MOVING_FIELDS)}."
        yield Verdict("cadence", "unknown", message, tuple(sorted(unchanged_gpus)))
    else:
        yield from build_verdict(
            "cadence",
            sorted(unchanged_gpus & moving_gpus),
            f"Nothing of a GPU changed within {interval:.0f} s.",
            "values are new",
        )


def index_values(families: Sequence[Family]) -> dict[tuple[str, object], float]:
    """Index finite values by GPU and series, because NaN never counts as a new value."""
    series = (entry for family in families for entry in family.series if isfinite(entry.points[-1][1]))
    return {
        (gpu.key[0], tuple(sorted(sample.labels.items()))): sample.points[-1][1]
        for sample in series
        if (gpu := extract_gpu(sample.labels))
    }
