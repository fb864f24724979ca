"""Readings of all GPUs at one moment, and the pods that have them."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from gpustack.gpus.activity import FIELDS
from gpustack.gpus.contradictions import drop_contradictions
from gpustack.gpus.device import Device, list_devices
from gpustack.gpus.queries import query_readings
from gpustack.metrics.gpus import Owner
from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.readings import Readings


@dataclass(frozen=True)
class Moment:
    """Hold all devices at one moment. `prometheus_time` is the clock of Prometheus and `monotonic_time` the
    monotonic clock of this process, when they were read."""

    devices: tuple[Device, ...]
    doubts: tuple[str, ...]
    prometheus_time: float
    monotonic_time: float

    def compute_age(self, timestamp: float) -> float:
        """Compute the seconds from a time of Prometheus until now."""
        return self.prometheus_time + time.monotonic() - self.monotonic_time - timestamp


def read_moment(prometheus: Prometheus) -> Moment:
    """Read all GPUs. Raise MissingDataError where there is no GPU, and the errors of a query."""
    return build_moment(query_readings(prometheus, FIELDS), prometheus.fetch_time())


def build_moment(readings: Readings, prometheus_time: float) -> Moment:
    """Build a moment with GPUs in the order of node and index."""
    devices, doubts = drop_contradictions(list_devices(readings))
    return Moment(tuple(devices), (*readings.doubts, *doubts), prometheus_time, time.monotonic())


def group_devices(devices: Iterable[Device]) -> dict[tuple[str, str], list[Device]]:
    """Group devices by namespace and pod, in their order."""
    device_groups: dict[tuple[str, str], list[Device]] = {}
    for device in devices:
        for name in dict.fromkeys((owner.namespace, owner.pod) for owner in device.owners):
            device_groups.setdefault(name, []).append(device)
    return dict(sorted(device_groups.items()))


def match_pods(devices: Iterable[Device], namespace: str, pod: str) -> list[Device]:
    """Find the devices of one pod, or with `vllm-*` of all pods whose name begins so. No name of a pod has a star."""
    return [device for device in devices if find_owners(device, namespace, pod)]


def find_owners(device: Device, namespace: str, pod: str) -> list[Owner]:
    def matches(owner: Owner) -> bool:
        has_name = owner.pod.startswith(pod[:-1]) if pod.endswith("*") else owner.pod == pod
        return has_name and owner.namespace == namespace

    return [owner for owner in device.owners if matches(owner)]
