"""GPUs of a workload whose values contradict each other now, whatever the profile of the time before says."""

import re

from gpustack.autoscale.workload import ScaledWorkload
from gpustack.errors import MissingDataError
from gpustack.gpus.contradictions import COMPARED_FIELDS, drop_contradictions
from gpustack.gpus.device import list_devices
from gpustack.gpus.queries import query_readings
from gpustack.metrics.prometheus import Prometheus


def find_contradictions(prometheus: Prometheus, workload: ScaledWorkload) -> tuple[str, ...]:
    """Find sentences with the GPU, both values and the remedy."""
    try:
        devices = list_devices(query_readings(prometheus, COMPARED_FIELDS))
    except MissingDataError:
        return ()  # without values none contradicts another; a suggestion by load names what is missing
    own_devices = [
        device
        for device in devices
        if any(
            owner.namespace == workload.namespace and re.fullmatch(workload.pods, owner.pod) for owner in device.owners
        )
    ]
    return tuple(drop_contradictions(own_devices)[1])
