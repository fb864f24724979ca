"""Windows from series of any source: distinct samples, gaps, links, and causes of throttling."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from types import MappingProxyType

from gpustack.metrics.gpus import Gpu, extract_gpu, extract_owner
from gpustack.metrics.prometheus import Series
from gpustack.metrics.readings import resolve_field
from gpustack.profile.boards import PCIE_LANE, find_nvlink_peak
from gpustack.profile.selection import Selection
from gpustack.profile.window import NEEDED_QUANTITIES, QUANTITIES, GpuWindow
from gpustack.vocabulary.fields import DEV, Field, convert_value, find_original
from gpustack.vocabulary.labels import SHARE
from gpustack.vocabulary.memory import MEMORY, SUMS, USED_MEMORY

ENERGY, GENERATION, WIDTH = (
    f"{DEV}{name}" for name in ("TOTAL_ENERGY_CONSUMPTION", "PCIE_LINK_GEN", "PCIE_LINK_WIDTH")
)
REASON = f"{DEV}CLOCKS_EVENT_REASON_"
THROTTLE_FIELDS = {
    "power_cap": f"{REASON}SW_POWER_CAP_NS",
    "sw_thermal": f"{REASON}SW_THERM_SLOWDOWN_NS",
    "hw_thermal": f"{REASON}HW_THERM_SLOWDOWN_NS",
    "power_brake": f"{REASON}HW_POWER_BRAKE_SLOWDOWN_NS",
}
# What a GPU is set to, which does not change while it works.
SETTINGS = {
    "ecc": f"{DEV}ECC_CURRENT",
    "mig": f"{DEV}MIG_MODE",
    "pcie_generation": f"{DEV}PCIE_MAX_LINK_GEN",
    "pcie_lanes": WIDTH,
    "power_limit_default": f"{DEV}POWER_MGMT_LIMIT_DEF",
    "temperature_limit": f"{DEV}GPU_MAX_OP_TEMP",
}
NAMES = frozenset(
    {*QUANTITIES.values(), *THROTTLE_FIELDS.values(), *SETTINGS.values(), ENERGY, GENERATION, WIDTH, *MEMORY}
)
LONG_PAUSE = 2.5  # times the usual distance of samples: more is a gap

Points = dict[str, dict[float, float]]


def build_windows(
    series_list: Iterable[Series],
    selection: Selection,
    seconds: float,
    helps: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Iterable[GpuWindow]:
    """Build windows by node and index. `helps` has the help texts of metrics whose name alone does not tell the field.
    A pod's time is that in which it had the GPU, whatever `seconds` were requested."""
    by_job: dict[tuple[str, str], dict[str, Points]] = {}
    gpus: dict[tuple[str, str], Gpu] = {}
    pods: dict[tuple[str, str], set[str]] = {}
    shared_keys: set[tuple[str, str]] = set()
    # Those of shares first: where the GPU has one of its own, that counts.
    for series in sorted(series_list, key=lambda series: SHARE not in series.labels):
        gpu = extract_gpu(series.labels)
        field = resolve_field(name := series.labels.get("__name__", ""), helps.get(name, ()))
        if gpu is None or field is None or not selection.matches_gpu(gpu, series.labels):
            continue
        gpus[gpu.key] = gpu
        shared_keys |= {gpu.key} if SHARE in series.labels else set()
        if owner := extract_owner(series.labels):
            pods.setdefault(gpu.key, set()).add(owner.path)
        points = by_job.setdefault(gpu.key, {}).setdefault(series.labels.get("job", ""), {})
        points.setdefault(find_original(field).name, {}).update(convert_points(field, series))
    for key in sorted(gpus, key=lambda gpu_key: (gpus[gpu_key].node, gpus[gpu_key].index)):
        # Of a GPU that several jobs scrape, the one with most samples: counters of two would seem to fall.
        points = max(by_job[key].values(), key=lambda job_points: sum(map(len, job_points.values())))
        names = tuple(sorted(pods.get(key, ())))
        yield build_window(gpus[key], points, seconds, names, whole=not selection.pod, is_shared=key in shared_keys)


def convert_points(field: Field, series: Series) -> dict[float, float]:
    """Convert the points of a series, without blank values."""
    return {time: value for time, raw in series.points if (value := convert_value(field, raw)) is not None}


def build_window(
    gpu: Gpu, points: Points, seconds: float, pods: tuple[str, ...], *, whole: bool, is_shared: bool
) -> GpuWindow:
    """Build the window of a GPU. With `whole` the GPU was there for all of the time, so that its ends without samples
    are gaps."""
    needed_values = [
        points[field] for name, field in QUANTITIES.items() if name in NEEDED_QUANTITIES and field in points
    ]
    times = [time for time in find_distinct_times(points) if all(time in values for values in needed_values)]
    tracks = {
        name: [points[field][time] for time in times if time in points[field]]
        for name, field in QUANTITIES.items()
        if field in points
    }
    distances = [after - before for before, after in pairwise(times)]
    interval = median(distances) if distances else seconds
    if times and not whole:
        seconds = min(seconds, times[-1] - times[0] + interval)
    missing_seconds = sum(distance - interval for distance in distances if distance > LONG_PAUSE * interval)
    edges = max(0.0, seconds - (times[-1] - times[0]) - LONG_PAUSE * interval) if times else seconds
    generation, width = find_maximum(points, GENERATION), find_maximum(points, WIDTH)
    return GpuWindow(
        gpu,
        seconds,
        interval,
        tracks,
        gaps=min(1.0, (missing_seconds + edges) / seconds),
        throttle_shares=compute_throttle_shares(points, seconds),
        pcie_peak=PCIE_LANE[int(generation)] * width if generation in PCIE_LANE and width else None,
        nvlink_peak=find_nvlink_peak(gpu.model),
        memory_total=find_memory(points, is_shared=is_shared),
        pods=pods,
        settings={
            name: value for name, field in SETTINGS.items() if (value := find_maximum(points, field)) is not None
        },
        is_shared=is_shared,
    )


def compute_throttle_shares(points: Points, seconds: float) -> dict[str, float]:
    """Compute the share of the time by cause."""
    return {
        cause: min(1.0, compute_increase(points[field]) / seconds)
        for cause, field in THROTTLE_FIELDS.items()
        if field in points
    }


def find_distinct_times(points: Points) -> list[float]:
    """Find the times of distinct samples. Exporters collect every 30 s and are scraped more often: a scrape whose
    values are all those of the one before is not distinct. The energy counter alone decides where it moves."""
    deciding = [points[ENERGY]] if len(set(points.get(ENERGY, {}).values())) > 1 else list(points.values())
    times = sorted({time for values in deciding for time in values})
    distinct_times = times[:1]
    for before, time in pairwise(times):
        if any(values.get(time) != values.get(before) for values in deciding):
            distinct_times.append(time)
    return distinct_times if len(distinct_times) > 1 else times


def find_maximum(points: Points, field: str) -> float | None:
    """Find the maximum of a field. An idle link runs at a lower generation: the one that it reached within the time
    counts."""
    return max(points[field].values()) if points.get(field) else None


def find_memory(points: Points, *, is_shared: bool) -> float | None:
    """Find the size of the memory. What a pod uses of a shared GPU is no part of a sum."""
    for names in SUMS:
        tracks = [points.get(name, {}) for name in names if not (is_shared and name == USED_MEMORY)]
        times = set(tracks[0]).intersection(*tracks)
        if len(tracks) == len(names) and times:
            return max(sum(track[time] for track in tracks) for time in times)
    return None


def compute_increase(values: Mapping[float, float]) -> float:
    """Compute the increase of a counter, which begins anew at 0 when the driver is loaded."""
    ordered_values: Sequence[float] = [values[time] for time in sorted(values)]
    return sum(after - before if after >= before else after for before, after in pairwise(ordered_values))
