"""`gpu top`: what every GPU does now, and for whom.

Activity is that of DCGM's profiling fields. GPU_UTIL is not among them: one endless kernel on one of 132 SMs makes
100 %.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from statistics import fmean

from gpustack.gpus.fleet import MEMORY, USED, memory_of, owners_by_gpu, place, readings_by_gpu
from gpustack.metrics.fields import DEV, PROF
from gpustack.metrics.gpus import Gpu, Owner
from gpustack.metrics.readings import Reading, Readings

# What stands in a column, by the field that it is of.
SHARES = {
    "engine": f"{PROF}GR_ENGINE_ACTIVE",
    "sm": f"{PROF}SM_ACTIVE",
    "tensor": f"{PROF}PIPE_TENSOR_ACTIVE",
    "dram": f"{PROF}DRAM_ACTIVE",
}
POWER, LIMIT, TEMPERATURE = f"{DEV}POWER_USAGE", f"{DEV}ENFORCED_POWER_LIMIT", f"{DEV}GPU_TEMP"
REASONS = f"{DEV}CLOCK_THROTTLE_REASONS"
FIELDS = (*SHARES.values(), *MEMORY, POWER, LIMIT, TEMPERATURE, REASONS)
# Bits of REASONS that slow a GPU down; 1 is idle, 2 and 256 are settings (nvml.h, nvmlClocksEventReasons).
BITS = {4: "power cap", 8: "hardware", 16: "sync boost", 32: "heat", 64: "heat (hardware)", 128: "power brake"}


@dataclass(frozen=True)
class Work:
    """Of a GPU or MIG instance now. Shares are 0 to 1, memory in bytes, power in watts; None is what its exporter does
    not say. `owners` are all pods that share it, `owner` is the first of them. `slowed` is by what; None where that is
    not known. `at` is the time of its newest value."""

    gpu: Gpu
    engine: float | None
    sm: float | None
    tensor: float | None
    dram: float | None
    memory: float | None
    memory_total: float | None
    power: float | None
    power_limit: float | None
    temperature: float | None
    slowed: tuple[str, ...] | None
    at: float
    owners: tuple[Owner, ...] = ()

    @property
    def owner(self) -> Owner | None:
        return next(iter(self.owners), None)


@dataclass(frozen=True)
class PodWork:
    """Of a pod: its GPUs, the mean of their shares and the sum of their memory and power. `shared` of its GPUs are of
    other pods as well, and count whole for each."""

    owner: Owner
    gpus: int
    engine: float | None
    sm: float | None
    tensor: float | None
    dram: float | None
    memory: float | None
    power: float | None
    shared: int = 0


@dataclass(frozen=True)
class Activity:
    """`lacking`: fields that no GPU of a model has, by model."""

    work: tuple[Work, ...]
    pods: tuple[PodWork, ...]
    lacking: Mapping[str, tuple[str, ...]]
    doubts: tuple[str, ...]


def see_activity(readings: Readings, wanted: Callable[[Work], bool] = lambda work: True) -> Activity:
    """Of those that are wanted, by node and index."""
    owners = owners_by_gpu(readings)
    work = sorted((work_of(found, owners) for found in readings_by_gpu(readings)), key=lambda one: place(one.gpu))
    chosen = tuple(filter(wanted, work))
    return Activity(chosen, tuple(pods_of(chosen)), lacking(chosen), readings.doubts)


def work_of(found: Mapping[str, Reading], owners: Mapping[tuple[str, str], tuple[Owner, ...]]) -> Work:
    newest = max(found.values(), key=lambda reading: reading.at)
    values = {name: reading.value for name, reading in found.items()}
    bits = values.get(REASONS)
    return Work(
        gpu=newest.gpu,
        owners=owners.get(newest.gpu.key, ()),
        **{name: values.get(field) for name, field in SHARES.items()},
        memory=values.get(USED),
        memory_total=memory_of(found),
        power=values.get(POWER),
        power_limit=values.get(LIMIT),
        temperature=values.get(TEMPERATURE),
        slowed=None if bits is None else tuple(word for bit, word in BITS.items() if int(bits) & bit),
        at=newest.at,
    )


def pods_of(work: Iterable[Work]) -> Iterator[PodWork]:
    """By namespace and pod. What one of its GPUs does not say is not known of the pod."""
    groups: dict[tuple[str, str], list[Work]] = {}
    for one in work:
        for pod in pods_on(one):
            groups.setdefault(pod, []).append(one)
    for (namespace, name), group in sorted(groups.items()):
        shares = {share: combine(fmean, (getattr(one, share) for one in group)) for share in SHARES}
        sums = {value: combine(sum, (getattr(one, value) for one in group)) for value in ("memory", "power")}
        shared = sum(len(pods_on(one)) > 1 for one in group)
        yield PodWork(Owner(namespace, name), len(group), **shares, **sums, shared=shared)


def pods_on(work: Work) -> set[tuple[str, str]]:
    return {(owner.namespace, owner.pod) for owner in work.owners}


def combine(how: Callable[[list[float]], float], values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else how([value for value in known if value is not None])


def lacking(work: Iterable[Work]) -> dict[str, tuple[str, ...]]:
    by_model: dict[str, list[Work]] = {}
    for one in work:
        by_model.setdefault(one.gpu.model, []).append(one)
    found = {
        model: tuple(field for name, field in SHARES.items() if all(getattr(one, name) is None for one in group))
        for model, group in by_model.items()
    }
    return {model: names for model, names in found.items() if names}


SORTS = ("node", *(field.name for field in fields(Work) if field.name in (*SHARES, "memory", "power", "temperature")))


def arrange(activity: Activity, by: str) -> Activity:
    """By one of SORTS, the highest first; what is not known last."""

    def key(one: Work | PodWork) -> float:
        value = getattr(one, by, None)
        return -value if value is not None else 1.0

    if by == "node":
        return activity
    return replace(activity, work=tuple(sorted(activity.work, key=key)), pods=tuple(sorted(activity.pods, key=key)))
