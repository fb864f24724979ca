"""Windows of whole hours in UTC, which no clock change makes longer or shorter."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gpustack.errors import InputError
from gpustack.times import HOUR, format_minute


@dataclass(frozen=True)
class Window:
    """Hold a window in seconds since 1970, both at a full hour; `end` is not part of it."""

    begin: int
    end: int

    @property
    def hours(self) -> int:
        return (self.end - self.begin) // HOUR

    @property
    def description(self) -> str:
        """Describe the window: `2026-10-01 00:00 to 2026-11-01 00:00 UTC`."""
        return f"{format_minute(self.begin)} to {format_minute(self.end)} UTC"


def build_recent_window(seconds: float, current_time: float) -> Window:
    """Build a window of the last seconds, at least an hour, until the last full hour."""
    end = int(current_time) // HOUR * HOUR
    return Window(end - max(HOUR, int(seconds) // HOUR * HOUR), end)


def parse_month(text: str, current_time: float) -> Window:
    """Parse a month, as `2026-10`; the present one ends with the last full hour. Raise InputError for another text, or
    a month to come."""
    try:
        begin = datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC)
    except ValueError:
        raise InputError("capacity-window", f"{text} is no month.", "It is a year and a month, as 2026-10.") from None
    next_month = (begin + timedelta(days=32)).replace(day=1)
    window = Window(int(begin.timestamp()), min(int(next_month.timestamp()), int(current_time) // HOUR * HOUR))
    if not window.hours > 0:
        clock = f"It is {format_minute(current_time)} UTC, by the clock of Prometheus"
        reason = f"{clock}, and no full hour of it has passed."
        raise InputError("capacity-window", f"{text} has not begun.", reason)
    return window
