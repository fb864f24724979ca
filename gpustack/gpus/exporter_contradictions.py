"""Checks of the values of one GPU against each other."""

from collections.abc import Iterator, Sequence

from gpustack.gpus.contradictions import describe_pair, find_device_contradiction
from gpustack.gpus.device import Device
from gpustack.gpus.verdict import Verdict, build_verdict
from gpustack.vocabulary.memory import TOTAL_MEMORY, USED_MEMORY


def check_contradictions(devices: Sequence[Device]) -> Iterator[Verdict]:
    wrong = [f"{device.label}: {text}" for device in devices if (text := describe_contradiction(device))]
    message = (
        "Values of one GPU cannot both be true. Where work begins or ends just now, ask again after half a minute. "
        "Counters of profiling that stand at 0 are known to count again after a restart of the exporter."
    )
    yield from build_verdict("contradictions", wrong, message, "none")


def describe_contradiction(device: Device) -> str | None:
    """Describe the two values that cannot both be true. Return None where there are none."""
    readings = device.readings
    if (
        USED_MEMORY in readings
        and TOTAL_MEMORY in readings
        and readings[USED_MEMORY].value > readings[TOTAL_MEMORY].value
    ):
        return f"{USED_MEMORY} is more than {TOTAL_MEMORY}"
    contradiction = find_device_contradiction(device)
    return describe_pair(contradiction) if contradiction else None
