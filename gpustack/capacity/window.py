"""From when to when: whole hours, in UTC, which no clock change makes longer or shorter."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gpustack.command import Prose
from gpustack.errors import UsageError

HOUR, DAY = 3600, 86400


@dataclass(frozen=True)
class Window:
    """Seconds since 1970, both at a full hour; `end` is not part of it."""

    begin: int
    end: int

    @property
    def hours(self) -> int:
        return (self.end - self.begin) // HOUR

    @property
    def shown(self) -> str:
        """`2026-10-01 00:00 to 2026-11-01 00:00 UTC`."""
        return f"{moment(self.begin)} to {moment(self.end)} UTC"


def moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"


def day_of(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def since(seconds: float, now: float) -> Window:
    """The last so many seconds, at least an hour, to the last full hour."""
    end = int(now) // HOUR * HOUR
    return Window(end - max(HOUR, int(seconds) // HOUR * HOUR), end)


def month_of(text: str, now: float) -> Window:
    """Of `2026-10`; of the present month what has passed. Raises UsageError for what is no month, or to come."""
    try:
        begin = datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC)
    except ValueError:
        raise UsageError(
            "capacity-window", f"{text} is no month.", "It is a year and a month.", Prose("2026-10")
        ) from None
    following = (begin + timedelta(days=32)).replace(day=1)
    found = Window(int(begin.timestamp()), min(int(following.timestamp()), int(now) // HOUR * HOUR))
    if not found.hours > 0:
        why = f"It is {moment(now)} UTC, by the clock of Prometheus, and no full hour of it has passed."
        raise UsageError("capacity-window", f"{text} has not begun.", why)
    return found
