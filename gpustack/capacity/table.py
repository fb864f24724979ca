"""Hours by day: samples of an hour times the time that a sample stands for and the GPUs that a unit is."""

from collections.abc import Callable, Iterable, Mapping

from gpustack.capacity.clock import Clock
from gpustack.capacity.hourly import HourlyValues, HourlyWords
from gpustack.capacity.source import Hourly
from gpustack.capacity.units import SHARED_SUFFIX, find_share, format_resource, is_part, parse_profile
from gpustack.capacity.usage import Hours, Key
from gpustack.metrics.prometheus import require_label
from gpustack.times import format_day
from gpustack.vocabulary import usage_series as series

GPU_RESOURCES = ("nvidia_com_gpu", "nvidia_com_gpu_shared")
"""Resources of a GPU that is not partitioned; the second is that of shared GPUs with a renamed resource."""


TOLERANCE_HOURS = 0.01
"""GPU-hours of a day and node by which the exporter and kube-state-metrics may differ."""


Place = tuple[str, str, str]
"""A day, a pool and a model."""


class UsageTable:
    """Add up hours. Models, pools and units have to be added before hours are. `unknown_units` are units of which
    nothing says how many GPUs they are, times hours, by node."""

    def __init__(self, clock: Clock, renames: Mapping[str, str]) -> None:
        self.clock = clock
        self.renames = renames
        self.models, self.pools = HourlyWords(), HourlyWords()
        self.units: HourlyValues[tuple[str, str], float] = HourlyValues()
        self.hours: dict[Key, Hours] = {}
        self.offered: dict[Key, float] = {}
        self.physical: dict[tuple[str, str], float] = {}
        self.days: dict[int, str] = {}
        self.places: dict[tuple[str, int], Place] = {}
        self.unknown_units: dict[str, float] = {}
        self.last_hours: dict[str, int] = {}

    def resolve_team(self, labels: Mapping[str, str]) -> str:
        team = labels.get("team", "")
        return self.renames.get(team, team)

    def add_gpus(self, node: str, model: str, hourly: Hourly) -> None:
        self.models.add_word(node, model, hourly)
        for hour, count in hourly.items():
            key = self.find_day(hour), node
            self.physical[key] = self.physical.get(key, 0.0) + count * self.clock.rules.get(hour, 0.0)

    def add_offered(self, labels: Mapping[str, str], hourly: Hourly) -> None:
        node, resource = labels.get("node", ""), require_label(labels, "resource")
        for hour, count in hourly.items():
            self.last_hours[node] = max(hour, self.last_hours.get(node, 0))
            if (unit := self.find_unit(node, resource, hour)) is None:
                unknown_hours = count * self.clock.requests.get(hour, 0.0)
                self.unknown_units[node] = self.unknown_units.get(node, 0.0) + unknown_hours
                continue
            key = self.build_key(self.locate_node(node, hour), node, parse_profile(resource), None, "")
            self.offered[key] = self.offered.get(key, 0.0) + count * unit * self.clock.requests.get(hour, 0.0)

    def add_allocated(self, labels: Mapping[str, str], hourly: Hourly) -> None:
        node, resource = labels.get("node", ""), require_label(labels, "resource")
        find_row = self.build_row_finder(labels)
        for hour, count in hourly.items():
            if (unit := self.find_unit(node, resource, hour)) is None:
                continue
            find_row(hour, parse_profile(resource)).allocated += count * unit * self.clock.requests.get(hour, 0.0)

    def add_measured(self, column: str, labels: Mapping[str, str], hourly: Hourly) -> None:
        """Add hours of pods by the shares of GPUs that they have. What a pod's own processes use is no share."""
        node, profile, find_row = labels.get("node", ""), labels.get("GPU_I_PROFILE", ""), self.build_row_finder(labels)
        of_pod = labels.get(series.SCOPE) == series.OF_POD
        for hour, count in hourly.items():
            offered_profile, share = self.compute_share(node, profile, hour)
            row = find_row(hour, offered_profile)
            gpu_hours = count * (1.0 if of_pod and column == "active" else share) * self.clock.rules.get(hour, 0.0)
            setattr(row, column, getattr(row, column) + gpu_hours)
            copied = column == "attributed" and is_part(share, profile) and not of_pod
            row.shared_hours += gpu_hours if copied else 0.0

    def compute_share(self, node: str, profile: str, hour: int) -> tuple[str, float]:
        """Compute the profile by which a MIG instance is offered, and the GPUs that it is. Where all instances of a
        node are alike, they are offered as nvidia.com/gpu (strategy single)."""
        instance = format_resource(profile)
        instance_share = self.find_first_unit(node, (instance, f"{instance}{SHARED_SUFFIX}") if profile else (), hour)
        if instance_share is not None:
            return profile, instance_share
        gpu_share = self.find_first_unit(node, GPU_RESOURCES, hour)
        return ("", gpu_share) if gpu_share is not None else (profile, find_share(profile) or 1.0)

    def find_first_unit(self, node: str, resources: Iterable[str], hour: int) -> float | None:
        units = (self.units.find_value((node, resource), hour) for resource in resources)
        return next((unit for unit in units if unit is not None), None)

    def find_unit(self, node: str, resource: str, hour: int) -> float | None:
        """Find the GPUs that one unit is. Return None where neither the node nor an exporter says it, and the resource
        names no profile: a unit may be a whole GPU or a tenth of one."""
        unit = self.units.find_value((node, resource), hour)
        return find_share(parse_profile(resource)) if unit is None else unit

    def build_row_finder(self, labels: Mapping[str, str]) -> Callable[[int, str], Hours]:
        """Build a function that finds the row of an hour and profile with these labels; it looks once a day, as long as
        nothing changes."""
        node, namespace, team = labels.get("node", ""), labels.get("namespace", ""), self.resolve_team(labels)
        rows: dict[tuple[Place, str], Hours] = {}

        def find_row(hour: int, profile: str) -> Hours:
            place = self.locate_node(node, hour), profile
            if place not in rows:
                rows[place] = self.hours.setdefault(self.build_key(place[0], node, profile, namespace, team), Hours())
            return rows[place]

        return find_row

    def locate_node(self, node: str, hour: int) -> Place:
        if (node, hour) not in self.places:
            place = (
                self.find_day(hour),
                self.pools.find_value(node, hour) or "",
                self.models.find_value(node, hour) or "",
            )
            self.places[node, hour] = place
        return self.places[node, hour]

    def find_day(self, hour: int) -> str:
        if hour not in self.days:
            self.days[hour] = format_day(hour)
        return self.days[hour]

    @staticmethod
    def build_key(place: Place, node: str, profile: str, namespace: str | None, team: str) -> Key:
        day, pool, model = place
        return Key(day, pool, node, model, profile, namespace, team)

    def complete_hours(self) -> dict[Key, Hours]:
        """Complete the hours by those that no pod had, of each day and node."""
        allocated_hours: dict[Key, float] = {}
        for key, hours in self.hours.items():
            place = key._replace(namespace=None, team="")
            allocated_hours[place] = allocated_hours.get(place, 0.0) + hours.allocated
        used_hours: dict[tuple[str, str], float] = {}
        rest: dict[tuple[str, str], Key] = {}
        for place in sorted({*allocated_hours, *self.offered}, key=lambda key: key[:5]):
            free = max(0.0, self.offered.get(place, 0.0) - allocated_hours.get(place, 0.0))
            self.hours[place] = Hours(free=free)
            node = place.day, place.node
            used_hours[node] = used_hours.get(node, 0.0) + free + allocated_hours.get(place, 0.0)
            rest.setdefault(node, place._replace(profile=""))
        for (day, name), physical in self.physical.items():
            unoffered_hours = physical - used_hours.get((day, name), 0.0)
            if unoffered_hours >= TOLERANCE_HOURS:
                place = rest.get((day, name), Key(day, "", name, "", "", None, ""))
                self.hours.setdefault(place, Hours()).unoffered += unoffered_hours
        return self.hours
