"""Values by name and hour that stay until they change: what an exporter that was down for an hour did not say."""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Generic, TypeVar

Name = TypeVar("Name")
Value = TypeVar("Value")


class Filled(Generic[Name, Value]):
    """In an hour without a value it is that of the last one before, else of the first one after."""

    def __init__(self) -> None:
        self.known: dict[Name, dict[int, Value]] = {}
        self.hours: dict[Name, list[int]] = {}

    def add(self, name: Name, hourly: Mapping[int, Value]) -> None:
        self.known.setdefault(name, {}).update(hourly)
        self.hours.pop(name, None)

    def at(self, name: Name, hour: int) -> Value | None:
        """None where there never was one."""
        known = self.known.get(name)
        if not known:
            return None
        if hour in known:
            return known[hour]
        if name not in self.hours:
            self.hours[name] = sorted(known)
        hours = self.hours[name]
        return known[hours[max(0, bisect_right(hours, hour) - 1)]]


class Words(Filled[str, str]):
    """A word of each node. Two in the same hour are both said."""

    def add_word(self, node: str, word: str, hourly: Mapping[int, float]) -> None:
        known = self.known.setdefault(node, {})
        for hour in hourly:
            words = {*filter(None, known.get(hour, "").split(" + ")), word}
            known[hour] = " + ".join(sorted(words))
        self.hours.pop(node, None)
