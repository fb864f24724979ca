"""GPUs whose profiling counters read 0 while they worked, over the hours of a window."""

from collections.abc import Iterator

from gpustack.capacity.clock import Clock
from gpustack.capacity.source import Source
from gpustack.capacity.usage import ContradictoryGpu
from gpustack.vocabulary import usage_series as series

GPU = f"node, UUID, gpu, GPU_I_ID, {series.WITNESS}"
LEAST_HOURS = 0.1
"""Shorter contradictions are left out: at an edge of work, values of one scrape may be of different moments."""


def query_contradictions(source: Source, clock: Clock) -> Iterator[ContradictoryGpu]:
    """Query the GPUs by node and index."""
    counts = query_gpus(source, "count_over_time")
    sums = query_gpus(source, "sum_over_time") if counts else {}
    for key, hourly in sorted(counts.items()):
        node, _, index, instance, witness = key
        hours = sum(count * clock.rules.get(hour, 0.0) for hour, count in hourly.items())
        if hours >= LEAST_HOURS and key in sums:
            value = sum(sums[key].values()) / sum(hourly.values())
            yield ContradictoryGpu(node, f"{index}:{instance}" if instance else index, witness, hours, value)


def query_gpus(source: Source, function: str) -> dict[tuple[str, ...], dict[int, float]]:
    """Query a function of the contradicting value by the labels of GPU, and by hour."""
    gpus: dict[tuple[str, ...], dict[int, float]] = {}
    for labels, hourly in source.query_hours(function, series.CONTRADICTING, GPU):
        gpus.setdefault(tuple(labels.get(name, "") for name in GPU.split(", ")), {}).update(hourly)
    return gpus
