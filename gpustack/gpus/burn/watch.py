"""What GPUs show while they are under load, by the metrics that their cluster has: heat, what slows them, and how far
the field of the load goes. A GPU whose temperature is not known any more is not loaded on.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from gpustack.command import Command
from gpustack.errors import GpustackError, UsageError
from gpustack.gpus.activity import BITS, REASONS, TEMPERATURE
from gpustack.gpus.ask import BACK
from gpustack.gpus.fleet import readings_by_gpu
from gpustack.metrics.fields import DEV
from gpustack.metrics.readings import Reading, Readings

OPERATING, SLOWDOWN, MARGIN = f"{DEV}GPU_MAX_OP_TEMP", f"{DEV}SLOWDOWN_TEMP", f"{DEV}GPU_TEMP_LIMIT"
FIELDS = (TEMPERATURE, OPERATING, SLOWDOWN, MARGIN, REASONS)
HEAT = ("heat", "heat (hardware)")
LAG = 30
"""Seconds that a value may be old when it is scraped: dcgm-exporter collects every 30 s (--collect-interval)."""
By = Mapping[str, Reading]


@dataclass
class Watched:
    """Of one GPU, from `begun` to `ended` in seconds of Prometheus' clock. `temperature` is the highest, in degrees
    Celsius; `slowed` is by what, None where that is not known. `reached` is the highest value of the load's field of
    `samples`; a value is a mean since the one before, so that one of the edges is too low. `hot` says how it was too
    hot."""

    begun: float
    ended: float | None = None
    model: str = ""
    temperature: float | None = None
    slowed: set[str] | None = None
    reached: float | None = None
    samples: set[float] = field(default_factory=set)
    hot: str = ""


@dataclass
class Watcher:
    """`now` and `ask` are of one Prometheus; `metric` is the field of the load. `most` in degrees Celsius, None for
    what the GPU itself says. `blind`: what is not known does not stop the load."""

    now: Callable[[], float]
    ask: Callable[[], Readings]
    metric: str
    most: float | None = None
    blind: bool = False
    gpus: dict[str, Watched] = field(default_factory=dict)
    answered: float = 0.0

    def look(self, running: Collection[str], ended: Collection[str], clock: float) -> str:
        """UUIDs; `clock` is this machine's, in seconds. Returns why the load is to stop."""
        try:
            now, found = self.now(), find_gpus(self.ask())
        except GpustackError as error:
            self.answered = self.answered or clock
            silent = running and not self.blind and clock - self.answered > BACK
            return f"Prometheus gave no answer for {BACK} s: {error.message}" if silent else ""
        self.answered = clock
        for uuid in (*running, *ended):
            self.gpus.setdefault(uuid, Watched(now))
        for uuid in ended:
            self.gpus[uuid].ended = self.gpus[uuid].ended or now
        for uuid, one in self.gpus.items():
            self.update(one, found.get(uuid, {}))
        return next(filter(None, (self.why_stop(uuid, found.get(uuid, {})) for uuid in running)), "")

    def is_complete(self) -> bool:
        """Whether each GPU has been scraped after its load."""
        ended = [one for one in self.gpus.values() if one.ended is not None]
        return all(one.ended <= max(one.samples, default=0.0) for one in ended if one.ended)

    def places(self) -> dict[str, str]:
        """The nodes of GPUs. Raises UsageError and UnreachableError."""
        return {uuid: next(iter(by.values())).gpu.node for uuid, by in find_gpus(self.ask()).items()}

    def update(self, one: Watched, by: By) -> None:
        if temperature := by.get(TEMPERATURE):
            one.model = temperature.gpu.model
        if one.ended is None:
            if temperature and temperature.at > one.begun:
                one.temperature = max(temperature.value, one.temperature or 0.0)
            if (bits := by.get(REASONS)) and bits.at > one.begun:
                one.slowed = (one.slowed or set()) | {word for bit, word in BITS.items() if int(bits.value) & bit}
        value = by.get(self.metric)
        if value and one.begun + LAG <= value.at <= (one.ended or value.at) + LAG:
            one.reached = max(value.value, one.reached or 0.0)
            one.samples.add(value.at)

    def why_stop(self, uuid: str, by: By) -> str:
        one = self.gpus[uuid]
        one.hot = one.hot or explain_heat(by, one, self.most)
        if one.hot:
            return f"{uuid} is too hot: {one.hot}"
        if self.blind or TEMPERATURE in by:
            return ""
        return f"the temperature of {uuid} is not known any more"


def find_gpus(readings: Readings) -> dict[str, By]:
    """By UUID, without MIG instances."""
    groups = (by for by in readings_by_gpu(readings) if by)
    return {gpu.uuid: by for by in groups if not (gpu := next(iter(by.values())).gpu).instance}


def limit_of(by: By) -> float | None:
    """At which the driver lowers clocks, else the hardware."""
    found = by.get(OPERATING) or by.get(SLOWDOWN)
    return found.value if found else None


def explain_heat(by: By, one: Watched, most: float | None) -> str:
    """Empty where it is not too hot by what is known."""
    temperature, limit = by.get(TEMPERATURE), most if most is not None else limit_of(by)
    if temperature and limit is not None and temperature.value >= limit:
        return f"{temperature.value:.0f} °C, and its limit is {limit:.0f} °C"
    if most is None and limit is None and (margin := by.get(MARGIN)) and margin.value <= 0:
        return "no degree is left until it slows down"
    slow = [word for word in HEAT if word in (one.slowed or ())]
    return f"it is slowed down by {slow[0]}" if slow else ""


def explain_unknown(why: str) -> UsageError:
    message = "It would not be known when GPUs get too hot; nothing was done."
    return UsageError("gpu-heat-unknown", message, why, Command("gpustack", "explain", "gpu-heat-unknown"))


def require_temperatures(ask: Callable[[], Readings], gpus: Mapping[str, int], most: float | None) -> None:
    """`gpus` by node are those that it offers. Raises UsageError where the heat of one of them would not be known, or
    not from when on it is too much."""
    try:
        found = list(find_gpus(ask()).values())
    except GpustackError as error:
        raise explain_unknown(error.message) from error
    missing = [f"{node}: {why}" for node, number in gpus.items() if (why := why_unknown(found, node, number, most))]
    if missing:
        raise explain_unknown("\n".join(missing))


def why_unknown(found: Iterable[By], node: str, number: int, most: float | None) -> str:
    there = [by for by in found if next(iter(by.values())).gpu.node == node]
    warm = [by for by in there if TEMPERATURE in by]
    if len(warm) < number:
        return f"Prometheus has the temperature of {len(warm)} of {number} GPUs"
    if most is None and (odd := [by for by in warm if limit_of(by) is None and MARGIN not in by]):
        return f"{len(odd)} of {number} GPUs do not say from when on they are too hot"
    return ""
