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
FULL_SHARE = 0.99
MAX_HOUR_SHARE = 1.02


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
    rule_shares = compute_hour_shares(source, series.SAMPLE, seconds)
    request_shares = compute_hour_shares(source, series.OFFERED_UNITS, seconds)
    hours = [hour for hour, share in rule_shares.items() if share > MAX_HOUR_SHARE]
    if hours:
        message = f"{source.prometheus.access.url} has more samples of usage than their interval allows."
        reason = (
            f"In the hour of {format_minute(hours[0])} UTC the samples add up to {rule_shares[hours[0]]:.2f} hours; "
            f"each covers {seconds[hours[0]]:.0f} s. The group gpustack-usage is evaluated at another interval than "
            "it was written for, or copies of its series differ."
        )
        raise MissingDataError("capacity-interval", message, reason)
    spans = {hour: seconds[hour] / HOUR for hour in seconds}
    recorded_shares = {hour: share / compute_divisor(share) for hour, share in request_shares.items()}

    def limit_share(hour: int, share: float) -> float:
        """Limit values to the time of which requests are known, so that others are not reported either."""
        return min(1.0, recorded_shares.get(hour, 0.0) * compute_divisor(share) / share)

    return Clock(
        {hour: spans[hour] / compute_divisor(share) * limit_share(hour, share) for hour, share in rule_shares.items()},
        {hour: spans[hour] / compute_divisor(share) for hour, share in request_shares.items()},
        recorded_shares,
        sum(1.0 - share for share in request_shares.values() if WHOLE_FROM <= share < FULL_SHARE),
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
    gap_begin: int | None = None
    for hour in range(begin, end + HOUR, HOUR):
        is_missing = hour < end and not recorded_shares.get(hour)
        if is_missing and gap_begin is None:
            gap_begin = hour
        elif not is_missing and gap_begin is not None:
            yield Gap(gap_begin, hour)
            gap_begin = None
