"""GPU-hours of a made fleet, added up from its pods and GPUs alone: no sample and nothing of the product is read."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.contract.fleet import L40S, LEVEL, PRICES, Fleet, Place, list_places
from tests.worlds.life.clock import HOUR, Span, cut, subtract_spans

Key = tuple[str, str, str]
"""Namespace, model and pool; a namespace that is empty is of GPUs that no pod had."""


class Truth:
    """Hold GPU-hours of a window by quantity and key, `holes` left out of it. Active and idle hours are not of shared
    GPUs."""

    def __init__(self, fleet: Fleet, window: Span, holes: Sequence[Span] = ()) -> None:
        self.fleet, self.spans = fleet, subtract_spans(*window, list(holes))
        self.hours: dict[tuple[str, Key], float] = defaultdict(float)
        for pod in fleet.pods:
            for place in pod.places:
                self.add("allocated", pod.namespace, place, place.share, pod.begin, pod.end)
                if place.model != L40S:
                    self.add("active", pod.namespace, place, LEVEL * place.share, pod.begin, pod.busy_end)
                    self.add("idle", pod.namespace, place, place.share, pod.busy_end, pod.end)
        for place in self.list_units():
            self.add("offered", "", place, place.share, *fleet.list_presence(place))
        gpus = {(place.node, place.uuid): place for place in self.list_units()}
        for place in gpus.values():
            self.add("total", "", place, 1.0, *fleet.list_presence(place))

    def list_units(self) -> Iterator[Place]:
        for places in list_places():
            yield from places

    def add(self, quantity: str, namespace: str, place: Place, gpus: float, begin: float, end: float) -> None:
        for pool, first, last in self.fleet.list_pools(place.node):
            spans = [(max(begin, first), min(end, last))]
            seconds = sum(cut(*span, *window) for span in spans if span[0] < span[1] for window in self.spans)
            self.hours[quantity, (namespace, place.model, pool)] += gpus * seconds / HOUR

    def sum_hours(self, quantity: str, namespace: str | None = None, pool: str = "") -> float:
        if quantity == "free":
            return self.sum_hours("offered", pool=pool) - self.sum_hours("allocated", pool=pool)
        if quantity == "unoffered":
            return self.sum_hours("total", pool=pool) - self.sum_hours("offered", pool=pool)
        return sum(
            hours
            for (name, key), hours in self.hours.items()
            if name == quantity and namespace in (None, key[0]) and pool in ("", key[2])
        )

    def compute_cost(self, namespace: str | None = None) -> float:
        """Compute the cost of a namespace, or of all GPUs that there are."""
        quantity = "total" if namespace is None else "allocated"
        return sum(
            hours * PRICES[key[1]]
            for (name, key), hours in self.hours.items()
            if name == quantity and namespace in (None, key[0])
        )
