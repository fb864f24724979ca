"""What all GPUs do at one moment, and which of them a pod has."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpustack.gpus.activity import FIELDS
from gpustack.gpus.ask import ask_readings
from gpustack.gpus.fleet import owners_by_gpu, place, readings_by_gpu
from gpustack.metrics.gpus import Gpu, Owner
from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.readings import Reading, Readings


@dataclass(frozen=True)
class Device:
    """A GPU or MIG instance with its newest readings, by the names of the fields, and all pods that share it."""

    gpu: Gpu
    owners: tuple[Owner, ...]
    readings: Mapping[str, Reading]

    @property
    def name(self) -> str:
        """What its path has: the UUID, or node and index where the exporter says none."""
        return self.gpu.key[0]


@dataclass(frozen=True)
class Moment:
    """`now` is the time of Prometheus' clock, and `taken` that of this machine's monotonic one, when it was read."""

    devices: tuple[Device, ...]
    doubts: tuple[str, ...]
    now: float
    taken: float

    def age(self, at: float) -> float:
        """Seconds since then, at this instant."""
        return self.now + time.monotonic() - self.taken - at


def read_moment(prometheus: Prometheus) -> Moment:
    """Raises UsageError where there is no GPU, and as asking a Prometheus does."""
    return see_moment(ask_readings(prometheus, FIELDS), prometheus.now())


def see_moment(readings: Readings, now: float) -> Moment:
    """GPUs by node and index."""
    owners = owners_by_gpu(readings)
    found = (device_of(one, owners) for one in readings_by_gpu(readings))
    devices = sorted(found, key=lambda device: place(device.gpu))
    return Moment(tuple(devices), readings.doubts, now, time.monotonic())


def device_of(found: Mapping[str, Reading], owners: Mapping[tuple[str, str], tuple[Owner, ...]]) -> Device:
    newest = max(found.values(), key=lambda reading: reading.at)
    return Device(newest.gpu, owners.get(newest.gpu.key, ()), found)


def devices_by_pod(devices: Iterable[Device]) -> dict[tuple[str, str], list[Device]]:
    """By namespace and pod, in their order."""
    found: dict[tuple[str, str], list[Device]] = {}
    for device in devices:
        for name in dict.fromkeys((owner.namespace, owner.pod) for owner in device.owners):
            found.setdefault(name, []).append(device)
    return dict(sorted(found.items()))


def match_pods(devices: Iterable[Device], namespace: str, pod: str) -> list[Device]:
    """Those of one pod, or with `vllm-*` of all whose name begins so. No name of a pod has a star."""
    return [device for device in devices if owners_named(device, namespace, pod)]


def owners_named(device: Device, namespace: str, pod: str) -> list[Owner]:
    def matches(owner: Owner) -> bool:
        named = owner.pod.startswith(pod[:-1]) if pod.endswith("*") else owner.pod == pod
        return named and owner.namespace == namespace

    return [owner for owner in device.owners if matches(owner)]
