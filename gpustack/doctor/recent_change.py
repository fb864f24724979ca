"""A change on a host, found near a root cause or before a state."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RecentChange:
    """Hold one change on a host. `seconds_ago` counts back from the moment at which the host was asked, by its own
    clock."""

    location: str
    seconds_ago: int
    description: str
