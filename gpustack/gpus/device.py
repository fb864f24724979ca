"""GPUs and MIG instances with their newest readings and the pods that have them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gpustack.metrics.gpus import Gpu, Owner
from gpustack.metrics.readings import Reading, Readings
from gpustack.vocabulary.basis import Basis
from gpustack.vocabulary.fields import DEV, PROF
from gpustack.vocabulary.memory import MEMORY, SUMS, TOTAL_MEMORY, USED_MEMORY
from gpustack.vocabulary.usage_series import IDLE_BELOW
from gpustack.vocabulary.xids import load_xids

ENGINE, UTILISATION = ACTIVITY = (f"{PROF}GR_ENGINE_ACTIVE", f"{DEV}GPU_UTIL")
XID = f"{DEV}XID_ERRORS"
OLD = 60.0  # seconds; exporters are scraped at least as often
# Bytes: idle boards and MIG instances print 0 to 12 MiB (tests/recorded/exporter-pages); a context of CUDA takes more.
UNUSED_MEMORY = 64 * 2**20


@dataclass(frozen=True)
class Device:
    """Hold a GPU or MIG instance with its newest readings, by the names of the fields, and all pods that share it.
    `time` is that of its newest reading, in seconds since 1970. `maps_pods` tells whether the exporter of its node
    names a pod of any GPU. `divided` tells whether several pods have MIG instances of its board. `contradiction` names
    two values that cannot both be true, of which it has neither. `own_values` are those of pods' own processes, by the
    name of the field and the path of the pod; None is unknown."""

    gpu: Gpu
    owners: tuple[Owner, ...]
    readings: Mapping[str, Reading]
    time: float
    maps_pods: bool = False
    divided: bool = False
    contradiction: str = ""
    own_values: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name is the UUID, or node and index where the exporter sends no UUID."""
        return self.gpu.key[0]

    @property
    def label(self) -> str:
        """The label is the name, with the id of a MIG instance."""
        return f"{self.name} instance {self.gpu.instance}" if self.gpu.instance else self.name

    @property
    def is_idle(self) -> bool:
        """A GPU is idle where its activity and its memory are known, and are those of a GPU without a program."""
        activity = [self.readings[name].value for name in ACTIVITY if name in self.readings]
        memory = self.readings.get(USED_MEMORY)
        return bool(activity) and max(activity) < IDLE_BELOW and memory is not None and memory.value <= UNUSED_MEMORY

    @property
    def in_use(self) -> bool | None:
        """The GPU is in use where a pod has it. None is unknown: an exporter that does not ask the kubelet names no
        pod, whoever has the GPU."""
        return True if self.owners else False if self.maps_pods or self.is_idle else None

    @property
    def memory_readings(self) -> tuple[Reading, ...]:
        """The memory is the sum of these readings. There are none where the memory in use is that of one of several
        pods: the sum would be too low."""
        names = next((names for names in SUMS if all(name in self.readings for name in names)), ())
        memory = self.readings[USED_MEMORY] if USED_MEMORY in names else None
        return () if memory and memory.part and memory.owner else tuple(self.readings[name] for name in names)

    @property
    def memory(self) -> float | None:
        """The memory is in bytes, and None where the exporter does not send it."""
        return sum(reading.value for reading in self.memory_readings) if self.memory_readings else None

    def find_basis(self, name: str) -> Basis:
        """Find the basis of the value of a field. A MIG instance has the values of its board in all fields but those
        of profiling and memory. The size of the memory may be the sum of its parts."""
        if name == TOTAL_MEMORY and len(self.memory_readings) > 1:
            return "derived"
        return "copied" if self.gpu.instance and not name.startswith(PROF) and name not in MEMORY else "measured"


def list_devices(readings: Readings) -> list[Device]:
    """List all GPUs by node and index. The instances of a GPU follow it."""
    owners = group_owners(readings)
    own_values = group_own_values(readings)
    devices = []
    for gpu_readings in group_readings(readings):
        newest = max(gpu_readings.values(), key=lambda reading: reading.time)
        key = newest.gpu.key
        devices.append(
            Device(newest.gpu, owners.get(key, ()), gpu_readings, newest.time, own_values=own_values.get(key, {}))
        )
    mapped_nodes = {device.gpu.node for device in devices if device.owners}
    boards = list_divided_boards(devices)
    return sorted(
        (
            replace(device, maps_pods=device.gpu.node in mapped_nodes, divided=device.name in boards)
            for device in devices
        ),
        key=lambda device: build_sort_key(device.gpu),
    )


def list_divided_boards(devices: Iterable[Device]) -> set[str]:
    """List the boards of which several pods have MIG instances. Power and temperature are the board's: no pod has
    either for itself."""
    pods: dict[str, set[str]] = {}
    for device in devices:
        if device.gpu.instance:
            pods.setdefault(device.name, set()).update(owner.path for owner in device.owners)
    return {board for board, names in pods.items() if len(names) > 1}


def group_readings(readings: Readings) -> Iterable[Mapping[str, Reading]]:
    """Group the readings of each GPU or MIG instance by the field's name. Readings that are older than a scrape are
    left out, because they may be of another pod's time. Of several Xids the most serious one counts."""
    newest: dict[tuple[str, str], float] = {}
    for reading in readings.newest:
        newest[reading.gpu.key] = max(reading.time, newest.get(reading.gpu.key, 0.0))
    by_gpu: dict[tuple[str, str], dict[str, Reading]] = {}
    for reading in readings.newest:
        gpu_readings = by_gpu.setdefault(reading.gpu.key, {})
        if reading.is_own or reading.time < newest[reading.gpu.key] - OLD:
            continue
        previous_reading = gpu_readings.get(reading.field.name)
        if previous_reading is None or compute_weight(reading) > compute_weight(previous_reading):
            gpu_readings[reading.field.name] = reading
    return by_gpu.values()


def group_own_values(readings: Readings) -> dict[tuple[str, str], dict[str, dict[str, float]]]:
    """Group the values of pods' own processes by GPU, field and pod."""
    values: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for reading in readings.newest:
        if reading.is_own and reading.owner:
            gpu_values = values.setdefault(reading.gpu.key, {})
            gpu_values.setdefault(reading.field.name, {})[reading.owner.path] = reading.value
    return values


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
        # Without a number of its share, a pod is told from others by its path.
        part = reading.part or ((reading.owner.path,) if reading.is_own and reading.owner else ())
        key = (reading.gpu.key, () if reading.field.name == XID else part)
        ends[reading.gpu.key] = max(reading.time, ends.get(reading.gpu.key, 0.0))
        if reading.owner and (key not in newest or reading.time > newest[key].time):
            newest[key] = reading
    gpu_owners: dict[tuple[str, str], set[Owner]] = {}
    for (gpu, _), reading in newest.items():
        if reading.owner and reading.time >= ends[gpu] - OLD:
            gpu_owners.setdefault(gpu, set()).add(reading.owner)
    return {gpu: tuple(sorted(owners)) for gpu, owners in gpu_owners.items()}


def build_sort_key(gpu: Gpu) -> tuple[str, int, str, int, str]:
    index, instance = (int(text) if text.isdecimal() else -1 for text in (gpu.index, gpu.instance))
    return gpu.node, index, gpu.uuid, instance, gpu.instance
