"""Checks of the values of one GPU against each other."""

from collections.abc import Iterator, Sequence

from gpustack.gpus.device import ENGINE, TOTAL, USED, UTILISATION, Device
from gpustack.gpus.verdict import Verdict, build_verdict
from gpustack.vocabulary.contradiction import find_contradiction
from gpustack.vocabulary.fields import DEV, PROF

SM, DRAM = f"{PROF}SM_ACTIVE", f"{PROF}DRAM_ACTIVE"
# Numerator and denominator of what is compared as a share.
POWER = (f"{DEV}POWER_USAGE", f"{DEV}ENFORCED_POWER_LIMIT")
CLOCK = (f"{DEV}SM_CLOCK", f"{DEV}MAX_SM_CLOCK")
FIELDS = {"engine": ENGINE, "utilisation": UTILISATION, "sm": SM, "power": POWER[0], "clock": CLOCK[0]}
LINKS = tuple(f"{PROF}{link}_{way}_BYTES" for link in ("PCIE", "NVLINK") for way in ("TX", "RX"))
COPY_RATE = 1e9  # bytes a second over a link: idle boards print 0.2 MB/s at most (tests/recorded/exporter-pages)


def check_contradictions(devices: Sequence[Device]) -> Iterator[Verdict]:
    wrong = [f"{device.label}: {text}" for device in devices if (text := describe_contradiction(device))]
    message = (
        "Values of one GPU cannot both be true. Where work begins or ends just now, ask again with --for. Counters of "
        "profiling that stand at 0 are known to count again after a restart of the exporter."
    )
    yield from build_verdict("contradictions", wrong, message, "none")


def describe_contradiction(device: Device) -> str | None:
    """Describe the two values that cannot both be true. Return None where there are none."""
    values = {name: reading.value for name, reading in device.readings.items()}
    if values.get(USED, 0) > values.get(TOTAL, float("inf")):
        return f"{USED} is more than {TOTAL}"
    found = find_contradiction(
        engine=values.get(ENGINE),
        utilisation=values.get(UTILISATION),
        power=compute_share(device, *POWER),
        sm=values.get(SM),
        clock=compute_share(device, *CLOCK),
        copies=find_copies(values),
    )
    if found is None:
        return None
    return ", ".join(
        f"{FIELDS[name]} is {value:.0%} of the most" if name in ("power", "clock") else f"{FIELDS[name]} is {value:.0%}"
        for name, value in zip(found.names, found.values, strict=True)
    )


def compute_share(device: Device, part: str, limit: str) -> float | None:
    """Compute a share of a board's limit. It is not known of a MIG instance, whose power and clock are the board's."""
    readings = device.readings
    if device.gpu.instance or part not in readings or limit not in readings or not readings[limit].value:
        return None
    return readings[part].value / readings[limit].value


def find_copies(values: dict[str, float]) -> float | None:
    """Find how busy the memory is, or that a link is."""
    if any(values.get(link, 0) >= COPY_RATE for link in LINKS):
        return 1.0
    return values.get(DRAM)
