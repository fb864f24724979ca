"""The history that fits on the volume of Prometheus, by the samples that it takes now."""

from contextlib import suppress
from math import ceil

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.probes.monitoring.workloads import SAMPLE_RATE
from gpustack.steps.monitoring.values import MIB, format_size_limit, needs_release
from gpustack.times import DAY, parse_duration

SAMPLE_BYTES = 2.0
"""Bytes of a sample on the disk: the upper end in Prometheus' documentation (Storage, Operational aspects)."""
FILL_SHARE = 0.85
"""Share of a volume that the data may fill (values.format_size_limit)."""
SIZES = {"MB": 2**20, "GB": 2**30, "TB": 2**40}


def describe_short_history(view: View) -> str:
    """Describe a history that is shorter than its retention, because the oldest data goes where the disk is full.
    Return an empty text where the retention is kept, or the samples are unknown, which checks report."""
    with suppress(FactUnavailable):
        if not needs_release(view):
            return ""
        rate, limit = view[SAMPLE_RATE], format_size_limit(view.spec)
        retention = view.spec.monitoring.retention
        needed_bytes = rate * parse_duration(retention) * SAMPLE_BYTES
        limit_bytes = int(limit[:-2]) * SIZES[limit[-2:]]
        if needed_bytes <= limit_bytes:
            return ""
        days = limit_bytes / (rate * SAMPLE_BYTES * DAY)
        volume = ceil(needed_bytes / FILL_SHARE / MIB["Gi"] / 2**20)
        return (
            f"Prometheus takes {rate:,.0f} samples a second, so {limit} hold {days:.0f} days, not the {retention} of "
            f"monitoring.retention: older days are missing in reports and bills. All of it needs {volume}Gi "
            "(monitoring.persistence.size)"
        )
    return ""
