"""GPUs of which two values cannot both be true: what such a GPU does is unknown."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpustack.gpus.device import ENGINE, UTILISATION, Device
from gpustack.vocabulary.contradiction import (
    COPY_RATE,
    FIELDS,
    REMEDY,
    Contradiction,
    describe_side,
    find_contradiction,
)
from gpustack.vocabulary.fields import DEV, PROF

DRAM = f"{PROF}DRAM_ACTIVE"
# Numerator and denominator of what is compared as a share.
POWER = (FIELDS["power"], f"{DEV}ENFORCED_POWER_LIMIT")
CLOCK = (FIELDS["clock"], f"{DEV}MAX_SM_CLOCK")
LINKS = tuple(f"{PROF}{link}_{direction}_BYTES" for link in ("PCIE", "NVLINK") for direction in ("TX", "RX"))
COMPARED_FIELDS = (*FIELDS.values(), POWER[1], CLOCK[1], DRAM, *LINKS)
"""Readings of these fields are compared."""


def find_device_contradiction(device: Device) -> Contradiction | None:
    """Find two values of a GPU that cannot both be true."""
    values = {name: reading.value for name, reading in device.readings.items()}
    return find_contradiction(
        engine=values.get(ENGINE),
        utilisation=values.get(UTILISATION),
        power=compute_share(device, *POWER),
        sm=values.get(FIELDS["sm"]),
        clock=compute_share(device, *CLOCK),
        copies=find_copies(values),
    )


def describe_pair(contradiction: Contradiction) -> str:
    return ", ".join(map(describe_side, contradiction.names, contradiction.values))


def drop_contradictions(devices: Iterable[Device]) -> tuple[list[Device], list[str]]:
    """Drop the values that are not believed, and return the devices with sentences about what was dropped. These are
    all profiling fields where their counters are dead, else the two that exclude each other."""
    believed_devices, doubts = [], []
    for device in devices:
        contradiction = find_device_contradiction(device)
        if contradiction is None:
            believed_devices.append(device)
            continue
        dropped_names = {FIELDS[name] for name in contradiction.names}
        if contradiction.dead_counters:
            dropped_names = {name for name in device.readings if name.startswith(PROF)}
        readings = {name: reading for name, reading in device.readings.items() if name not in dropped_names}
        reason = f"{describe_pair(contradiction)}: both cannot be true, so its activity is unknown"
        believed_devices.append(replace(device, readings=readings, contradiction=reason))
        remedy = f"; {REMEDY}" if contradiction.dead_counters else ""
        doubts.append(f"{device.gpu.node} GPU {device.gpu.index}: {reason}{remedy}")
    return believed_devices, doubts


def compute_share(device: Device, part: str, limit: str) -> float | None:
    """Compute a share of a board's limit. It is not known of a MIG instance, whose power and clock are the board's."""
    readings = device.readings
    if device.gpu.instance or part not in readings or limit not in readings or not readings[limit].value:
        return None
    return readings[part].value / readings[limit].value


def find_copies(values: Mapping[str, float]) -> float | None:
    """Find how busy the memory is, or that a link is."""
    if any(values.get(link, 0) >= COPY_RATE for link in LINKS):
        return 1.0
    return values.get(DRAM)
