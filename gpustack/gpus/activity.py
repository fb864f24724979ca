"""`gpu top` shows what every GPU does now, and for which pod.

Activity is that of DCGM's profiling fields. GPU_UTIL stands for it only where a GPU has none of them: one endless
kernel on one of 132 SMs makes 100 %.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from statistics import fmean

from gpustack.gpus.contradictions import drop_contradictions
from gpustack.gpus.device import ENGINE, UTILISATION, Device, list_devices
from gpustack.gpus.own_values import judge_own_values
from gpustack.metrics.gpus import Gpu, Owner
from gpustack.metrics.readings import Readings
from gpustack.vocabulary.basis import Basis
from gpustack.vocabulary.fields import DEV, PROF
from gpustack.vocabulary.memory import MEMORY, TOTAL_MEMORY, USED_MEMORY

# What stands in a column, by the field that it is of.
SHARES = {
    "engine": ENGINE,
    "sm": f"{PROF}SM_ACTIVE",
    "tensor": f"{PROF}PIPE_TENSOR_ACTIVE",
    "dram": f"{PROF}DRAM_ACTIVE",
}
POWER, LIMIT, TEMPERATURE = f"{DEV}POWER_USAGE", f"{DEV}ENFORCED_POWER_LIMIT", f"{DEV}GPU_TEMP"
REASONS = f"{DEV}CLOCK_THROTTLE_REASONS"
NUMBERS = {
    **SHARES,
    "utilisation": UTILISATION,
    "memory": USED_MEMORY,
    "memory_total": TOTAL_MEMORY,
    "power": POWER,
    "power_limit": LIMIT,
    "temperature": TEMPERATURE,
}
COUNTS = ("gpus", "shared_gpus")
FIELDS = (*SHARES.values(), UTILISATION, *MEMORY, POWER, LIMIT, TEMPERATURE, REASONS)
# Bits of REASONS that slow a GPU down; 1 is idle, 2 and 256 are settings (nvml.h, nvmlClocksEventReasons).
BITS = {4: "power cap", 8: "hardware", 16: "sync boost", 32: "heat", 64: "heat (hardware)", 128: "power brake"}


@dataclass(frozen=True)
class GpuActivity:
    """Hold the activity of a GPU or MIG instance now. Shares are 0 to 1, memory in bytes, power in watts; None is a
    value that its exporter does not send. Power and temperature of an instance are its board's. `owners` are all pods
    that share it, `owner` is the first of them; `in_use` is None where nobody tells whether a pod has it.
    `throttle_reasons` are None where they are not known. `time` is that of its newest value. `divided` tells whether
    several pods have instances of its board, `contradictory` whether it lacks values because they excluded each
    other. `basis` is that of its numbers, by attribute. `own_values` are those of the processes of each pod that shares
    it, by attribute and path of the pod."""

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
    throttle_reasons: tuple[str, ...] | None
    time: float
    owners: tuple[Owner, ...] = ()
    utilisation: float | None = None
    in_use: bool | None = None
    divided: bool = False
    contradictory: bool = False
    basis: Mapping[str, Basis] = field(default_factory=dict)
    own_values: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    @property
    def owner(self) -> Owner | None:
        return next(iter(self.owners), None)


@dataclass(frozen=True)
class PodActivity:
    """Hold the activity of a pod: its number of GPUs, the mean of their shares and the sum of their memory and power.
    `shared_gpus` of its GPUs belong to other pods as well, and count whole for each, but for what the exporter knows of
    the pod's own processes. The power of a board counts once, whatever the number of its MIG instances, and is None
    where other pods have instances of it too. `basis` is that of its numbers, by attribute."""

    owner: Owner
    gpus: int
    engine: float | None
    sm: float | None
    tensor: float | None
    dram: float | None
    memory: float | None
    power: float | None
    shared_gpus: int = 0
    utilisation: float | None = None
    basis: Mapping[str, Basis] = field(default_factory=dict)


@dataclass(frozen=True)
class Activity:
    """Hold the activity of GPUs and pods. `lacking` are, by model, the fields that no GPU of the model has."""

    gpus: tuple[GpuActivity, ...]
    pods: tuple[PodActivity, ...]
    lacking: Mapping[str, tuple[str, ...]]
    doubts: tuple[str, ...]


def build_activity(readings: Readings, predicate: Callable[[GpuActivity], bool] = lambda work: True) -> Activity:
    """Build the activity of the GPUs that the predicate selects, by node and index."""
    believed_devices, doubts = drop_contradictions(list_devices(readings))
    devices, own_doubts = judge_own_values(believed_devices)
    activities = tuple(filter(predicate, map(build_gpu_activity, devices)))
    lacking = find_missing_fields(work for work in activities if not work.contradictory)
    return Activity(activities, tuple(group_by_pod(activities)), lacking, (*readings.doubts, *doubts, *own_doubts))


def build_gpu_activity(device: Device) -> GpuActivity:
    values = {name: reading.value for name, reading in device.readings.items()}
    bits = values.get(REASONS)
    return GpuActivity(
        gpu=device.gpu,
        owners=device.owners,
        utilisation=values.get(UTILISATION),
        in_use=device.in_use,
        divided=device.divided,
        contradictory=bool(device.contradiction),
        **{name: values.get(field) for name, field in SHARES.items()},
        memory=values.get(USED_MEMORY),
        memory_total=device.memory,
        power=values.get(POWER),
        power_limit=values.get(LIMIT),
        temperature=values.get(TEMPERATURE),
        throttle_reasons=None if bits is None else tuple(word for bit, word in BITS.items() if int(bits) & bit),
        time=device.time,
        basis={name: device.find_basis(source) for name, source in NUMBERS.items()},
        own_values={name: device.own_values[source] for name, source in NUMBERS.items() if source in device.own_values},
    )


def group_by_pod(activities: Iterable[GpuActivity]) -> Iterator[PodActivity]:
    """Group the activity of GPUs by namespace and pod. A value that one of its GPUs lacks is None for the pod."""
    groups: dict[tuple[str, str], list[GpuActivity]] = {}
    for activity in activities:
        for pod in list_pods(activity):
            groups.setdefault(pod, []).append(activity)
    for (namespace, name), group in sorted(groups.items()):
        owner = Owner(namespace, name)
        shares = {
            share: combine_values(fmean, (find_pod_value(member, owner, share) for member in group))
            for share in (*SHARES, "utilisation")
        }
        memory = combine_values(sum, (find_pod_value(member, owner, "memory") for member in group))
        powers = {member.gpu.key[0]: None if member.divided else member.power for member in group}
        power = combine_values(sum, powers.values())
        shared_members = [member for member in group if len(list_pods(member)) > 1]
        copied_names = (
            name for name in NUMBERS if any(owner.path not in gpu.own_values.get(name, {}) for gpu in shared_members)
        )
        basis: dict[str, Basis] = {**dict.fromkeys(NUMBERS, "measured"), **dict.fromkeys(COUNTS, "allocated")}
        basis |= dict.fromkeys(copied_names, "copied")
        yield PodActivity(
            owner,
            len(group),
            **shares,
            memory=memory,
            power=power,
            shared_gpus=len(shared_members),
            basis=basis,
        )


def find_pod_value(activity: GpuActivity, owner: Owner, name: str) -> float | None:
    """Find the value of the pod's own processes, or else that of the GPU."""
    own_values = activity.own_values.get(name, {})
    value: float | None = own_values[owner.path] if owner.path in own_values else getattr(activity, name)
    return value


def list_pods(activity: GpuActivity) -> set[tuple[str, str]]:
    return {(owner.namespace, owner.pod) for owner in activity.owners}


def combine_values(function: Callable[[list[float]], float], values: Iterable[float | None]) -> float | None:
    figures = list(values)
    return None if None in figures else function([figure for figure in figures if figure is not None])


def find_missing_fields(activities: Iterable[GpuActivity]) -> dict[str, tuple[str, ...]]:
    by_model: dict[str, list[GpuActivity]] = {}
    for activity in activities:
        by_model.setdefault(activity.gpu.model, []).append(activity)
    missing_fields = {
        model: tuple(field for name, field in SHARES.items() if all(getattr(member, name) is None for member in group))
        for model, group in by_model.items()
    }
    return {model: names for model, names in missing_fields.items() if names}


SORTS = (
    "node",
    *(
        field.name
        for field in fields(GpuActivity)
        if field.name in (*SHARES, "memory", "power", "temperature", "utilisation")
    ),
)


def sort_activity(activity: Activity, column: str) -> Activity:
    """Sort by one of SORTS, the highest first and unknown values last."""

    def compute_rank(entry: GpuActivity | PodActivity) -> float:
        figure = getattr(entry, column, None)
        return -figure if figure is not None else 1.0

    if column == "node":
        return activity
    return replace(
        activity,
        gpus=tuple(sorted(activity.gpus, key=compute_rank)),
        pods=tuple(sorted(activity.pods, key=compute_rank)),
    )
