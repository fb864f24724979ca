"""Time that a sample stands for, and the share of each hour that was recorded."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpustack.capacity.source import Source
from gpustack.capacity.usage import Gap
from gpustack.errors import MissingDataError
from gpustack.times import HOUR, format_minute
from gpustack.vocabulary import usage_series as series

WHOLE_FROM = 0.5
"""Recorded share from which an hour counts whole: its missing part was as the rest."""
FULL = 0.99
MOST = 1.02


@dataclass(frozen=True)
class Clock:
    """Hold, by hour, the hours that one sample stands for, so that an hour with a short gap counts whole: `rules` are
    of the exporters' values (Prometheus was there), `requests` of requests (kube-state-metrics was there, too).
    `recorded_shares` are the known shares of hours; `bridged_hours` is the sum of the short gaps."""

    rules: Mapping[int, float]
    requests: Mapping[int, float]
    recorded_shares: Mapping[int, float]
    bridged_hours: float


def query_clock(source: Source) -> Clock:
    """Query the clock. Raise MissingDataError where there are more samples than their interval allows: hours would
    count twice."""
    seconds: dict[int, float] = {}
    for _, hourly in source.query_hours("avg_over_time", series.SAMPLE, ""):
        seconds |= hourly
    ruled = compute_hour_shares(source, series.SAMPLE, seconds)
    requested = compute_hour_shares(source, series.OFFERED_UNITS, seconds)
    many = [hour for hour, share in ruled.items() if share > MOST]
    if many:
        message = f"{source.prometheus.access.url} has more samples of usage than their interval allows."
        why = (
            f"In the hour of {format_minute(many[0])} UTC the samples add up to {ruled[many[0]]:.2f} hours; each "
            f"covers {seconds[many[0]]:.0f} s. The group gpustack-usage is evaluated at another interval than "
            "it was written for, or copies of its series differ."
        )
        raise MissingDataError("capacity-interval", message, why)
    weigh = {hour: seconds[hour] / HOUR for hour in seconds}
    recorded = {hour: share / compute_divisor(share) for hour, share in requested.items()}

    def limit_share(hour: int, share: float) -> float:
        """Limit values to the time of which requests are known, so that others are not reported either."""
        return min(1.0, recorded.get(hour, 0.0) * compute_divisor(share) / share)

    return Clock(
        {hour: weigh[hour] / compute_divisor(share) * limit_share(hour, share) for hour, share in ruled.items()},
        {hour: weigh[hour] / compute_divisor(share) for hour, share in requested.items()},
        recorded,
        sum(1.0 - share for share in requested.values() if WHOLE_FROM <= share < FULL),
    )


def compute_divisor(share: float) -> float:
    """Compute the divisor by which a recorded hour counts whole."""
    return share if share >= WHOLE_FROM else 1.0


def compute_hour_shares(source: Source, name: str, seconds: Mapping[int, float]) -> dict[int, float]:
    """Compute the share of each hour that has samples, by the series that has most of them."""
    shares: dict[int, float] = {}
    for _, hourly in source.query_hours("count_over_time", name, ""):
        for hour, count in hourly.items():
            if hour in seconds:
                shares[hour] = max(shares.get(hour, 0.0), count * seconds[hour] / HOUR)
    return shares


def find_gaps(begin: int, end: int, recorded_shares: Mapping[int, float]) -> Iterator[Gap]:
    """Find hours without any sample; those that follow each other are one gap."""
    since: int | None = None
    for hour in range(begin, end + HOUR, HOUR):
        missing = hour < end and not recorded_shares.get(hour)
        if missing and since is None:
            since = hour
        elif not missing and since is not None:
            yield Gap(since, hour)
            since = None
