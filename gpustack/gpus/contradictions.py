"""GPUs of which two values cannot both be true: what such a GPU does is unknown."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpustack.gpus.device import ENGINE, UTILISATION, Device
from gpustack.vocabulary.contradiction import Contradiction, find_contradiction
from gpustack.vocabulary.fields import DEV, PROF

SM, DRAM = f"{PROF}SM_ACTIVE", f"{PROF}DRAM_ACTIVE"
# Numerator and denominator of what is compared as a share.
POWER = (f"{DEV}POWER_USAGE", f"{DEV}ENFORCED_POWER_LIMIT")
CLOCK = (f"{DEV}SM_CLOCK", f"{DEV}MAX_SM_CLOCK")
FIELDS = {"engine": ENGINE, "utilisation": UTILISATION, "sm": SM, "power": POWER[0], "clock": CLOCK[0]}
LINKS = tuple(f"{PROF}{link}_{way}_BYTES" for link in ("PCIE", "NVLINK") for way in ("TX", "RX"))
COPY_RATE = 1e9  # bytes a second over a link: idle boards print 0.2 MB/s at most (tests/recorded/exporter-pages)


REMEDY = "restart the DCGM host engine of its node, or the exporter with its own"


def find_device_contradiction(device: Device) -> Contradiction | None:
    """Find two values of a GPU that cannot both be true."""
    values = {name: reading.value for name, reading in device.readings.items()}
    return find_contradiction(
        engine=values.get(ENGINE),
        utilisation=values.get(UTILISATION),
        power=compute_share(device, *POWER),
        sm=values.get(SM),
        clock=compute_share(device, *CLOCK),
        copies=find_copies(values),
    )


def describe_pair(contradiction: Contradiction) -> str:
    return ", ".join(
        f"{FIELDS[name]} is {value:.0%} of the most" if name in ("power", "clock") else f"{FIELDS[name]} is {value:.0%}"
        for name, value in zip(contradiction.names, contradiction.values, strict=True)
    )


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
