"""Heat, throttling and load of GPUs under `gpu burn`, by the metrics of their cluster. The load stops where the
temperature of a GPU is not known any more."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from gpustack.config.inventory import Inventory
from gpustack.errors import GpustackError, MissingDataError
from gpustack.events import Reporter
from gpustack.gpus.activity import BITS, REASONS, TEMPERATURE
from gpustack.gpus.device import group_readings
from gpustack.gpus.queries import LOOKBACK_SECONDS, query_readings
from gpustack.metrics.gpus import Gpu
from gpustack.metrics.readings import Reading, Readings
from gpustack.proof.connect import open_prometheus
from gpustack.vocabulary.fields import DEV

OPERATING, SLOWDOWN, MARGIN = f"{DEV}GPU_MAX_OP_TEMP", f"{DEV}SLOWDOWN_TEMP", f"{DEV}GPU_TEMP_LIMIT"
FIELDS = (TEMPERATURE, OPERATING, SLOWDOWN, MARGIN, REASONS)
HEAT = ("heat", "heat (hardware)")
LAG = 30
"""Seconds that a value may be old when it is scraped: dcgm-exporter collects every 30 s (--collect-interval)."""
FieldReadings = Mapping[str, Reading]


@dataclass
class GpuObservation:
    """Hold the observation of one GPU from `started_at` to `ended_at`, in seconds of Prometheus' clock. `temperature`
    is the highest, in degrees Celsius; `throttle_reasons` are None where they are not known. `highest_value` is that of
    the load's field; `samples` are the times of its values. A value is a mean since the one before, so that one at an
    edge is too low. `hot` is a sentence where it was too hot."""

    started_at: float
    ended_at: float | None = None
    gpu: Gpu | None = None
    temperature: float | None = None
    throttle_reasons: set[str] | None = None
    highest_value: float | None = None
    samples: set[float] = field(default_factory=set)
    hot: str = ""


@dataclass
class Watcher:
    """Watch GPUs under load. `server_clock` and `ask` are of one Prometheus; `metric` is the field of the load.
    `temperature_limit` is in degrees Celsius, None for the GPU's own. With `blind`, unknown values do not stop the
    load."""

    server_clock: Callable[[], float]
    ask: Callable[[], Readings]
    metric: str
    temperature_limit: float | None = None
    blind: bool = False
    gpus: dict[str, GpuObservation] = field(default_factory=dict)
    answered_at: float = 0.0

    def observe_gpus(self, running: Collection[str], ended_uuids: Collection[str], clock: float) -> str:
        """Observe the GPUs with these UUIDs; `clock` is the local one, in seconds. Return the reason to stop the load,
        or an empty text."""
        try:
            server_time, gpu_readings = self.server_clock(), find_gpus(self.ask())
        except GpustackError as error:
            self.answered_at = self.answered_at or clock
            silent = running and not self.blind and clock - self.answered_at > LOOKBACK_SECONDS
            return f"Prometheus gave no answer for {LOOKBACK_SECONDS} s: {error.message}" if silent else ""
        self.answered_at = clock
        for uuid in (*running, *ended_uuids):
            self.gpus.setdefault(uuid, GpuObservation(server_time))
        for uuid in ended_uuids:
            self.gpus[uuid].ended_at = self.gpus[uuid].ended_at or server_time
        for uuid, observation in self.gpus.items():
            self.update_observation(observation, gpu_readings.get(uuid, {}))
        return next(filter(None, (self.find_stop_reason(uuid, gpu_readings.get(uuid, {})) for uuid in running)), "")

    def is_complete(self) -> bool:
        """Tell whether each GPU has been scraped after its load."""
        ended_observations = [observation for observation in self.gpus.values() if observation.ended_at is not None]
        return all(
            ended_observation.ended_at <= max(ended_observation.samples, default=0.0)
            for ended_observation in ended_observations
            if ended_observation.ended_at
        )

    def map_nodes(self) -> dict[str, str]:
        """Map UUIDs to their nodes. Raise MissingDataError and UnreachableError."""
        return {uuid: next(iter(readings.values())).gpu.node for uuid, readings in find_gpus(self.ask()).items()}

    def update_observation(self, observation: GpuObservation, readings: FieldReadings) -> None:
        if temperature := readings.get(TEMPERATURE):
            observation.gpu = temperature.gpu
        if observation.ended_at is None:
            if temperature and temperature.time > observation.started_at:
                observation.temperature = choose_higher(temperature.value, observation.temperature)
            if (bits := readings.get(REASONS)) and bits.time > observation.started_at:
                observation.throttle_reasons = (observation.throttle_reasons or set()) | {
                    word for bit, word in BITS.items() if int(bits.value) & bit
                }
        value = readings.get(self.metric)
        if value and observation.started_at + LAG <= value.time <= (observation.ended_at or value.time) + LAG:
            observation.highest_value = choose_higher(value.value, observation.highest_value)
            observation.samples.add(value.time)

    def find_stop_reason(self, uuid: str, readings: FieldReadings) -> str:
        observation = self.gpus[uuid]
        observation.hot = observation.hot or explain_heat(readings, observation, self.temperature_limit)
        if observation.hot:
            return f"{uuid} is too hot: {observation.hot}"
        if self.blind or TEMPERATURE in readings:
            return ""
        return f"the temperature of {uuid} is not known any more"


@contextmanager
def open_watcher(
    inventory: Inventory, metric: str, temperature_limit: float | None, report: Reporter, *, blind: bool
) -> Iterator[Watcher | None]:
    """Open the Prometheus that has the temperatures. Yield None where it is not reached with `blind`, and raise
    MissingDataError without."""
    with ExitStack() as stack:
        watcher = None
        try:
            prometheus = stack.enter_context(open_prometheus(inventory, report))
            ask = lambda: query_readings(prometheus, (metric, *FIELDS))  # noqa: E731
            watcher = Watcher(prometheus.fetch_time, ask, metric, temperature_limit, blind)
        except GpustackError as error:
            if not blind:
                raise build_heat_error(error.message) from error
        yield watcher


def choose_higher(value: float, highest: float | None) -> float:
    return value if highest is None else max(value, highest)


def find_gpus(readings: Readings) -> dict[str, FieldReadings]:
    """Find the readings of each GPU by UUID, without MIG instances."""
    groups = (gpu_readings for gpu_readings in group_readings(readings) if gpu_readings)
    return {gpu.uuid: group for group in groups if not (gpu := next(iter(group.values())).gpu).instance}


def find_limit(readings: FieldReadings) -> float | None:
    """Find the temperature at which the driver lowers clocks, or else at which the hardware does."""
    reading = readings.get(OPERATING) or readings.get(SLOWDOWN)
    return reading.value if reading else None


def explain_heat(readings: FieldReadings, observation: GpuObservation, temperature_limit: float | None) -> str:
    """Explain why a GPU is too hot. Return an empty text where the readings do not show it."""
    temperature, limit = (
        readings.get(TEMPERATURE),
        temperature_limit if temperature_limit is not None else find_limit(readings),
    )
    if temperature and limit is not None and temperature.value >= limit:
        return f"{temperature.value:.0f} °C, and its limit is {limit:.0f} °C"
    if temperature_limit is None and limit is None and (margin := readings.get(MARGIN)) and margin.value <= 0:
        return "no degree is left until it slows down"
    slow = [word for word in HEAT if word in (observation.throttle_reasons or ())]
    return f"it is slowed down by {slow[0]}" if slow else ""


def build_heat_error(reason: str) -> MissingDataError:
    message = "It would not be known when GPUs get too hot; nothing was done."
    return MissingDataError("gpu-heat-unknown", message, reason)


def require_temperatures(ask: Callable[[], Readings], gpus: Mapping[str, int], temperature_limit: float | None) -> None:
    """Require readings of the heat of all GPUs; `gpus` are the numbers of offered GPUs by node. Raise
    MissingDataError where the heat of one of them, or its limit, would not be known."""
    try:
        gpu_readings = list(find_gpus(ask()).values())
    except GpustackError as error:
        raise build_heat_error(error.message) from error
    missing = [
        f"{node}: {reason}"
        for node, number in gpus.items()
        if (reason := explain_unknown_heat(gpu_readings, node, number, temperature_limit))
    ]
    if missing:
        raise build_heat_error("\n".join(missing))


def explain_unknown_heat(
    gpu_readings: Iterable[FieldReadings], node: str, number: int, temperature_limit: float | None
) -> str:
    node_readings = [readings for readings in gpu_readings if next(iter(readings.values())).gpu.node == node]
    warm = [node_gpu for node_gpu in node_readings if TEMPERATURE in node_gpu]
    if len(warm) < number:
        return f"Prometheus has the temperature of {len(warm)} of {number} GPUs"
    if temperature_limit is None and (
        odd := [warm_gpu for warm_gpu in warm if find_limit(warm_gpu) is None and MARGIN not in warm_gpu]
    ):
        return f"{len(odd)} of {number} GPUs do not say from when on they are too hot"
    return ""
