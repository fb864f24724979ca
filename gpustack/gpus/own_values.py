"""Judge the values that an exporter sends of each pod's processes on GPUs that several pods share.

Exporter 4.8.2 and later has utilisation and memory in use of each pod beside those of the GPU, where it runs with
--kubernetes-virtual-gpus. A pod of whose processes it knows none has 0, and without hostPID it knows none of any pod
(internal/pkg/transformation/kubernetes.go and pidmapper.go of NVIDIA/dcgm-exporter).
"""

from collections.abc import Iterable
from dataclasses import replace

from gpustack.gpus.device import UNUSED_MEMORY, UTILISATION, Device
from gpustack.vocabulary.amounts import format_value
from gpustack.vocabulary.memory import USED_MEMORY
from gpustack.vocabulary.usage_series import IDLE_BELOW

LARGEST_IDLE = {UTILISATION: IDLE_BELOW, USED_MEMORY: UNUSED_MEMORY}
"""The most that a GPU has without a program."""


def judge_own_values(devices: Iterable[Device]) -> tuple[list[Device], list[str]]:
    """Judge the values of pods' own processes, and return the devices with sentences about what is not believed. They
    are unknown where all pods have 0 and the GPU has more, and where the value of the GPU itself is not known. A pod
    that is alone on a GPU has the values of the GPU."""
    judged_devices, doubts = [], []
    for device in devices:
        is_shared = len({owner.path for owner in device.owners}) > 1
        values = dict(device.own_values) if is_shared else {}
        for name in values:
            reading = device.readings.get(name)
            if reading is None:
                values[name] = dict.fromkeys(values[name])
            elif reading.value > LARGEST_IDLE.get(name, 0) and not any(values[name].values()):
                values[name] = dict.fromkeys(values[name])
                doubts.append(
                    f"{device.gpu.node} GPU {device.gpu.index}: {name} is {format_value(reading.value, reading.unit)}, "
                    "and 0 of each of its pods: both cannot be true, so it is unknown of its pods; without hostPID an "
                    "exporter sees no processes"
                )
        judged_devices.append(replace(device, own_values=values))
    return judged_devices, doubts
