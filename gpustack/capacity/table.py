"""Samples of an hour, times what a sample stands for and how many GPUs a unit is: added up by day."""

from collections.abc import Callable, Mapping

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


Place = tuple[str, str, str]
"""Day, pool and model."""


class Table:
    """Models, pools and units have to be there before hours are added. `shared` are allocated hours of GPUs that pods
    share."""

    def __init__(self, clock: Clock, renamed: Mapping[str, str]) -> None:
        self.clock = clock
        self.renamed = renamed
        self.models, self.pools = Words(), Words()
        self.units: Filled[tuple[str, str], float] = Filled()
        self.hours: dict[Key, Hours] = {}
        self.offered: dict[Key, float] = {}
        self.physical: dict[tuple[str, str], float] = {}
        self.days: dict[int, str] = {}
        self.places: dict[tuple[str, int], Place] = {}
        self.shared = 0.0

    def team_of(self, labels: Mapping[str, str]) -> str:
        team = labels.get("team", "")
        return self.renamed.get(team, team)

    def add_gpus(self, node: str, model: str, hourly: Hourly) -> None:
        self.models.add_word(node, model, hourly)
        for hour, count in hourly.items():
            key = self.day(hour), node
            self.physical[key] = self.physical.get(key, 0.0) + count * self.clock.rules.get(hour, 0.0)

    def add_offered(self, labels: Mapping[str, str], hourly: Hourly) -> None:
        node, resource = labels.get("node", ""), labels["resource"]
        for hour, count in hourly.items():
            key = self.key(self.place(node, hour), node, profile_of(resource), None, "")
            hours = count * self.unit(node, resource, hour) * self.clock.requests.get(hour, 0.0)
            self.offered[key] = self.offered.get(key, 0.0) + hours

    def add_allocated(self, labels: Mapping[str, str], hourly: Hourly) -> None:
        node, resource, row = labels.get("node", ""), labels["resource"], self.rows(labels)
        for hour, count in hourly.items():
            unit = self.unit(node, resource, hour)
            hours = count * unit * self.clock.requests.get(hour, 0.0)
            row(hour, profile_of(resource)).allocated += hours
            self.shared += hours if resource in WHOLE and unit < 1 else 0.0

    def add_measured(self, column: str, labels: Mapping[str, str], hourly: Hourly) -> None:
        node, profile, found = labels.get("node", ""), labels.get("GPU_I_PROFILE", ""), self.rows(labels)
        for hour, count in hourly.items():
            offered, share = self.share(node, profile, hour)
            row = found(hour, offered)
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

    def rows(self, labels: Mapping[str, str]) -> Callable[[int, str], Hours]:
        """The row of an hour and profile, of these labels: looked for once a day, as long as nothing changes."""
        node, namespace, team = labels.get("node", ""), labels.get("namespace", ""), self.team_of(labels)
        known: dict[tuple[Place, str], Hours] = {}

        def row(hour: int, profile: str) -> Hours:
            place = self.place(node, hour), profile
            if place not in known:
                known[place] = self.hours.setdefault(self.key(place[0], node, profile, namespace, team), Hours())
            return known[place]

        return row

    def place(self, node: str, hour: int) -> Place:
        if (node, hour) not in self.places:
            found = self.day(hour), self.pools.at(node, hour) or "", self.models.at(node, hour) or ""
            self.places[node, hour] = found
        return self.places[node, hour]

    def day(self, hour: int) -> str:
        if hour not in self.days:
            self.days[hour] = day_of(hour)
        return self.days[hour]

    @staticmethod
    def key(place: Place, node: str, profile: str, namespace: str | None, team: str) -> Key:
        day, pool, model = place
        return Key(day, pool, node, model, profile, namespace, team)

    def settled(self) -> dict[Key, Hours]:
        """With what no pod has: of each day and node."""
        taken: dict[Key, float] = {}
        for key, hours in self.hours.items():
            place = key._replace(namespace=None, team="")
            taken[place] = taken.get(place, 0.0) + hours.allocated
        used: dict[tuple[str, str], float] = {}
        rest: dict[tuple[str, str], Key] = {}
        for place in sorted({*taken, *self.offered}, key=lambda key: key[:5]):
            free = max(0.0, self.offered.get(place, 0.0) - taken.get(place, 0.0))
            self.hours[place] = Hours(free=free)
            node = place.day, place.node
            used[node] = used.get(node, 0.0) + free + taken.get(place, 0.0)
            rest.setdefault(node, place._replace(profile=""))
        for (day, name), physical in self.physical.items():
            more = physical - used.get((day, name), 0.0)
            if more >= NOTHING:
                place = rest.get((day, name), Key(day, "", name, "", "", None, ""))
                self.hours.setdefault(place, Hours()).unoffered += more
        return self.hours
