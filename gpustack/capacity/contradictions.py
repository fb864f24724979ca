"""GPUs whose profiling counters read 0 while they worked, over the hours of a window."""

from collections.abc import Iterator

from gpustack.capacity.clock import Clock
from gpustack.capacity.source import Source
from gpustack.capacity.usage import ContradictoryGpu
from gpustack.vocabulary import usage_series as series

GPU = f"node, UUID, gpu, GPU_I_ID, {series.WITNESS}"
LEAST_HOURS = 0.1
"""Where work begins or ends, the newest values of one scrape may be of different moments."""


def query_contradictions(source: Source, clock: Clock) -> Iterator[ContradictoryGpu]:
    """Query the GPUs by node and index."""
    hours: dict[tuple[str, ...], float] = {}
    samples: dict[tuple[str, ...], float] = {}
    sums: dict[tuple[str, ...], float] = {}
    names = GPU.split(", ")
    for labels, hourly in source.query_hours("count_over_time", series.CONTRADICTING, GPU):
        key = tuple(labels.get(name, "") for name in names)
        samples[key] = samples.get(key, 0.0) + sum(hourly.values())
        hours[key] = hours.get(key, 0.0) + sum(count * clock.rules.get(hour, 0.0) for hour, count in hourly.items())
    for labels, hourly in source.query_hours("sum_over_time", series.CONTRADICTING, GPU) if hours else ():
        key = tuple(labels.get(name, "") for name in names)
        sums[key] = sums.get(key, 0.0) + sum(hourly.values())
    for key in sorted(hours):
        node, _, index, instance, witness = key
        if hours[key] >= LEAST_HOURS and key in sums:
            yield ContradictoryGpu(
                node, f"{index}:{instance}" if instance else index, witness, hours[key], sums[key] / samples[key]
            )
