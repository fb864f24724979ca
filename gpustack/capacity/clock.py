"""What a sample stands for, and how much of the time was recorded at all."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpustack.capacity.source import Source
from gpustack.capacity.usage import Gap
from gpustack.capacity.window import HOUR, moment
from gpustack.config import usage_series as series
from gpustack.errors import UsageError

WHOLE_FROM = 0.5
"""An hour of which so much was recorded counts whole: what is missing of it was as the rest."""
FULL = 0.99
MOST = 1.02


@dataclass(frozen=True)
class Clock:
    """By hour: what one sample stands for, in hours, so that an hour with a short gap counts whole; of what the
    exporters measure (`rules`: Prometheus was there) and of requests (`requests`: kube-state-metrics too). `recorded`
    is how much of the hour is known; `bridged` how many hours the short gaps are together."""

    rules: Mapping[int, float]
    requests: Mapping[int, float]
    recorded: Mapping[int, float]
    bridged: float


def read_clock(source: Source) -> Clock:
    """Raises UsageError where there are more samples than their interval allows: hours would count twice."""
    seconds: dict[int, float] = {}
    for _, hourly in source.hourly("avg_over_time", series.SAMPLE, ""):
        seconds |= hourly
    ruled = share_of_hours(source, series.SAMPLE, seconds)
    requested = share_of_hours(source, series.OFFERED, seconds)
    many = [hour for hour, share in ruled.items() if share > MOST]
    if many:
        message = f"{source.prometheus.access.url} has more samples of usage than their interval allows."
        why = (
            f"Those of the hour of {moment(many[0])} UTC are of {ruled[many[0]]:.2f} hours, as each says it "
            f"stands for {seconds[many[0]]:.0f} s. The group gpustack-usage is evaluated at another interval than it "
            "was written for, or copies of its series differ."
        )
        raise UsageError("capacity-interval", message, why)
    weigh = {hour: seconds[hour] / HOUR for hour in seconds}
    recorded = {hour: share / whole(share) for hour, share in requested.items()}

    def limit_share(hour: int, share: float) -> float:
        """What is measured in a time of which no requests are known is not reported either."""
        return min(1.0, recorded.get(hour, 0.0) * whole(share) / share)

    return Clock(
        {hour: weigh[hour] / whole(share) * limit_share(hour, share) for hour, share in ruled.items()},
        {hour: weigh[hour] / whole(share) for hour, share in requested.items()},
        recorded,
        sum(1.0 - share for share in requested.values() if WHOLE_FROM <= share < FULL),
    )


def whole(share: float) -> float:
    """What the hours of an hour are divided by, to count whole."""
    return share if share >= WHOLE_FROM else 1.0


def share_of_hours(source: Source, name: str, seconds: Mapping[int, float]) -> dict[int, float]:
    """Of each hour, how much has samples: of the series that has most of them."""
    found: dict[int, float] = {}
    for _, hourly in source.hourly("count_over_time", name, ""):
        for hour, count in hourly.items():
            if hour in seconds:
                found[hour] = max(found.get(hour, 0.0), count * seconds[hour] / HOUR)
    return found


def find_gaps(begin: int, end: int, recorded: Mapping[int, float]) -> Iterator[Gap]:
    """Hours without anything, those that follow each other as one."""
    since: int | None = None
    for hour in range(begin, end + HOUR, HOUR):
        missing = hour < end and not recorded.get(hour)
        if missing and since is None:
            since = hour
        elif not missing and since is not None:
            yield Gap(since, hour)
            since = None
