"""Times in seconds since 1970, formatted in UTC, and durations in the notation of Prometheus."""

import re
from datetime import UTC, datetime

HOUR, DAY = 3600, 86400
UNITS = {"y": 365 * DAY, "w": 7 * DAY, "d": DAY, "h": HOUR, "m": 60, "s": 1, "ms": 0.001}
DURATION = re.compile("".join(rf"(?:(\d{{1,12}}){unit})?" for unit in UNITS))


def parse_duration(text: str) -> float:
    """Parse a duration, as `15s` or `1h30m`, to seconds. Raise ValueError for other texts."""
    match = DURATION.fullmatch(text)
    if not text or match is None:
        raise ValueError(f"not a duration: {text!r}")
    return sum(int(number or 0) * unit for number, unit in zip(match.groups(), UNITS.values(), strict=True))


def format_day(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d}"


def format_minute(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M}"


def format_duration(seconds: float) -> str:
    """Format a duration: `0.6 s`, `42 s`, `1 min 5 s`, `2 h 3 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    minutes, remaining_seconds = divmod(total, 60)
    if minutes < 60:
        return f"{minutes} min {remaining_seconds} s" if remaining_seconds else f"{minutes} min"
    hours, remaining_minutes = divmod(minutes, 60)
    return f"{hours} h {remaining_minutes} min" if remaining_minutes else f"{hours} h"
