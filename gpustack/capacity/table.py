"""Samples of an hour, times what a sample stands for and how many GPUs a unit is: added up by day."""

from collections.abc import Mapping

from gpustack.capacity.clock import Clock
from gpustack.capacity.filled import Filled, Words
from gpustack.capacity.source import Hourly
from gpustack.capacity.units import profile_of, resource_of, share_of
from gpustack.capacity.usage import Hours, Key
from gpustack.capacity.window import day_of

WHOLE = ("nvidia_com_gpu", "nvidia_com_gpu_shared")
"""What a GPU that is not partitioned is offered as; the second where pods share it and the resource was renamed."""


NOTHING = 0.01
"""GPU-hours of a day and node by which the exporter and kube-state-metrics may differ."""


class Table:
    """Models, pools and units have to be there before hours are added."""

    def __init__(self, clock: Clock, renamed: Mapping[str, str]) -> None:
        self.clock = clock
        self.renamed = renamed
        self.models, self.pools = Words(), Words()
        self.units: Filled[tuple[str, str], float] = Filled()
        self.hours: dict[Key, Hours] = {}
        self.offered: dict[Key, float] = {}
        self.physical: dict[Key, float] = {}
        self.days: dict[int, str] = {}

    def team_of(self, labels: Mapping[str, str]) -> str:
        team = labels.get("team", "")
        return self.renamed.get(team, team)

    def add_gpus(self, node: str, model: str, hourly: Hourly) -> None:
        self.models.add_word(node, model, hourly)
        for hour, count in hourly.items():
            key = self.key(node, hour, "")._replace(model="", pool="")
            self.physical[key] = self.physical.get(key, 0.0) + count * self.clock.rules.get(hour, 0.0)

    def add_offered(self, labels: Mapping[str, str], hourly: Hourly) -> None:
        node, resource = labels.get("node", ""), labels["resource"]
        for hour, count in hourly.items():
            key = self.key(node, hour, profile_of(resource))
            hours = count * self.unit(node, resource, hour) * self.clock.requests.get(hour, 0.0)
            self.offered[key] = self.offered.get(key, 0.0) + hours

    def add_allocated(self, labels: Mapping[str, str], hourly: Hourly) -> None:
        node, resource = labels.get("node", ""), labels["resource"]
        for hour, count in hourly.items():
            row = self.row(node, hour, profile_of(resource), labels)
            row.allocated += count * self.unit(node, resource, hour) * self.clock.requests.get(hour, 0.0)

    def add_measured(self, column: str, labels: Mapping[str, str], hourly: Hourly) -> None:
        node, profile = labels.get("node", ""), labels.get("GPU_I_PROFILE", "")
        for hour, count in hourly.items():
            offered, share = self.share(node, profile, hour)
            row = self.row(node, hour, offered, labels)
            value = count * share * self.clock.rules.get(hour, 0.0)
            setattr(row, column, getattr(row, column) + value)

    def share(self, node: str, profile: str, hour: int) -> tuple[str, float]:
        """The profile that a MIG instance is offered by, and GPUs that it is. Where all of a node are alike, they are
        offered as nvidia.com/gpu (strategy single)."""
        own = self.units.at((node, resource_of(profile)), hour) if profile else None
        if own is not None:
            return profile, own
        whole = next((one for name in WHOLE if (one := self.units.at((node, name), hour)) is not None), None)
        return ("", whole) if whole is not None else (profile, share_of(profile) or 1.0)

    def unit(self, node: str, resource: str, hour: int) -> float:
        """GPUs that one unit is. One that is not known is a GPU."""
        known = self.units.at((node, resource), hour)
        return share_of(profile_of(resource)) or 1.0 if known is None else known

    def row(self, node: str, hour: int, profile: str, labels: Mapping[str, str]) -> Hours:
        key = self.key(node, hour, profile)._replace(namespace=labels.get("namespace", ""), team=self.team_of(labels))
        return self.hours.setdefault(key, Hours())

    def key(self, node: str, hour: int, profile: str) -> Key:
        if hour not in self.days:
            self.days[hour] = day_of(hour)
        model, pool = self.models.at(node, hour) or "", self.pools.at(node, hour) or ""
        return Key(self.days[hour], pool, node, model, profile, None, "")

    def settled(self) -> dict[Key, Hours]:
        """With what no pod has: of each day and node."""
        taken: dict[Key, float] = {}
        for key, hours in self.hours.items():
            place = key._replace(namespace=None, team="")
            taken[place] = taken.get(place, 0.0) + hours.allocated
        used: dict[Key, float] = {}
        for place in {*taken, *self.offered}:
            free = max(0.0, self.offered.get(place, 0.0) - taken.get(place, 0.0))
            self.hours[place] = Hours(free=free)
            node = Key(place.day, "", place.node, "", "", None, "")
            used[node] = used.get(node, 0.0) + free + taken.get(place, 0.0)
        for node, physical in self.physical.items():
            self.add_unoffered(node, physical - used.get(node, 0.0))
        return self.hours

    def add_unoffered(self, node: Key, hours: float) -> None:
        if hours < NOTHING:
            return
        places = [key for key in self.hours if key.day == node.day and key.node == node.node and key.namespace is None]
        place = min(places, default=node)._replace(profile="")
        self.hours.setdefault(place, Hours()).unoffered += hours
