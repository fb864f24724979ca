"""Values by name and hour that stay until they change, so that an exporter that was down leaves no hole."""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Generic, TypeVar

Name = TypeVar("Name")
Value = TypeVar("Value")


class HourlyValues(Generic[Name, Value]):
    """Hold values by name and hour. An hour without a value has that of the last hour before it, else of the first
    after it."""

    def __init__(self) -> None:
        self.values: dict[Name, dict[int, Value]] = {}
        self.hours: dict[Name, list[int]] = {}

    def add(self, name: Name, hourly: Mapping[int, Value]) -> None:
        self.values.setdefault(name, {}).update(hourly)
        self.hours.pop(name, None)

    def find_value(self, name: Name, hour: int) -> Value | None:
        """Find the value of an hour. Return None where the name never had one."""
        hourly = self.values.get(name)
        if not hourly:
            return None
        if hour in hourly:
            return hourly[hour]
        if name not in self.hours:
            self.hours[name] = sorted(hourly)
        hours = self.hours[name]
        return hourly[hours[max(0, bisect_right(hours, hour) - 1)]]

    def find_newest_values(self) -> dict[Name, Value]:
        return {name: hourly[max(hourly)] for name, hourly in self.values.items() if hourly}


class HourlyWords(HourlyValues[str, str]):
    """Hold a word of each node by hour. Two words of the same hour are joined."""

    def add_word(self, node: str, word: str, hourly: Mapping[int, float]) -> None:
        hourly_words = self.values.setdefault(node, {})
        for hour in hourly:
            words = {*filter(None, hourly_words.get(hour, "").split(" + ")), word}
            hourly_words[hour] = " + ".join(sorted(words))
        self.hours.pop(node, None)
