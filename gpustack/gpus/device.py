"""GPUs and MIG instances with their newest readings and the pods that have them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpustack.metrics.gpus import Gpu, Owner
from gpustack.metrics.readings import Reading, Readings
from gpustack.vocabulary.fields import DEV
from gpustack.vocabulary.xids import load_xids

TOTAL, USED, FREE, RESERVED = MEMORY = tuple(f"{DEV}FB_{word}" for word in ("TOTAL", "USED", "FREE", "RESERVED"))
XID = f"{DEV}XID_ERRORS"
OLD = 60.0  # seconds; exporters are scraped at least as often


@dataclass(frozen=True)
class Device:
    """Hold a GPU or MIG instance with its newest readings, by the names of the fields, and all pods that share it."""

    gpu: Gpu
    owners: tuple[Owner, ...]
    readings: Mapping[str, Reading]

    @property
    def name(self) -> str:
        """The name is the UUID, or node and index where the exporter sends no UUID."""
        return self.gpu.key[0]

    @property
    def time(self) -> float:
        """The time is that of the newest reading."""
        return max(reading.time for reading in self.readings.values())

    @property
    def memory_readings(self) -> tuple[Reading, ...]:
        """The memory is the sum of these readings. Exporters send the total only when asked to; its three parts are in
        their own list. Without one of them there are none."""
        names = (TOTAL,) if TOTAL in self.readings else (USED, FREE, RESERVED)
        readings = tuple(self.readings[name] for name in names if name in self.readings)
        return readings if len(readings) == len(names) else ()

    @property
    def memory(self) -> float | None:
        """The memory is in bytes, and None where the exporter does not send it."""
        return sum(reading.value for reading in self.memory_readings) if self.memory_readings else None


def list_devices(readings: Readings) -> list[Device]:
    """List all GPUs by node and index. The instances of a GPU follow it."""
    owners = group_owners(readings)
    devices = []
    for gpu_readings in group_readings(readings):
        gpu = max(gpu_readings.values(), key=lambda reading: reading.time).gpu
        devices.append(Device(gpu, owners.get(gpu.key, ()), gpu_readings))
    return sorted(devices, key=lambda device: build_sort_key(device.gpu))


def group_readings(readings: Readings) -> Iterable[Mapping[str, Reading]]:
    """Group the readings of each GPU or MIG instance by the field's name. Readings that are older than a scrape are
    left out, because they may be of another pod's time. Of several Xids the most serious one counts."""
    newest: dict[tuple[str, str], float] = {}
    for reading in readings.newest:
        newest[reading.gpu.key] = max(reading.time, newest.get(reading.gpu.key, 0.0))
    by_gpu: dict[tuple[str, str], dict[str, Reading]] = {}
    for reading in readings.newest:
        gpu_readings = by_gpu.setdefault(reading.gpu.key, {})
        if reading.time < newest[reading.gpu.key] - OLD:
            continue
        other = gpu_readings.get(reading.field.name)
        if other is None or compute_weight(reading) > compute_weight(other):
            gpu_readings[reading.field.name] = reading
    return by_gpu.values()


def compute_weight(reading: Reading) -> tuple[bool, bool, float]:
    """Compute which of two readings of a field counts more. A shared GPU may have series of each pod beside its own,
    which counts."""
    xid = reading.field.name == XID
    return xid and is_serious(int(reading.value)), not xid and not reading.part, reading.time


def is_serious(code: int) -> bool:
    """Tell whether an Xid is serious: one that is not in the table, or that NVIDIA does not expect, is."""
    return code > 0 and (code not in load_xids() or load_xids()[code].severity in ("critical", "unknown"))


def group_owners(readings: Readings) -> dict[tuple[str, str], tuple[Owner, ...]]:
    """Group all pods by GPU. A shared GPU has several where the exporter has a series for each (label vgpu). Where
    several jobs scrape a GPU, one of them may not ask the kubelet."""
    newest: dict[tuple[tuple[str, str], tuple[str, ...]], Reading] = {}
    ends: dict[tuple[str, str], float] = {}
    for reading in readings.newest:
        key = (reading.gpu.key, () if reading.field.name == XID else reading.part)
        ends[reading.gpu.key] = max(reading.time, ends.get(reading.gpu.key, 0.0))
        if reading.owner and (key not in newest or reading.time > newest[key].time):
            newest[key] = reading
    gpu_owners: dict[tuple[str, str], set[Owner]] = {}
    for (gpu, _), reading in newest.items():
        if reading.owner and reading.time >= ends[gpu] - OLD:
            gpu_owners.setdefault(gpu, set()).add(reading.owner)
    return {gpu: tuple(sorted(owners)) for gpu, owners in gpu_owners.items()}


def build_sort_key(gpu: Gpu) -> tuple[str, int, str, str]:
    number = int(gpu.index) if gpu.index.isdigit() else -1
    return gpu.node, number, gpu.uuid, gpu.instance
