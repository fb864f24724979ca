"""GPUs are watched under load, and heat or silence stops it."""

from collections.abc import Iterator
from itertools import chain

import pytest

from gpustack.burn.watch import LAG, Watcher, require_temperatures
from gpustack.errors import MissingDataError, UnreachableError
from gpustack.metrics.prometheus import Series
from gpustack.metrics.readings import Readings, build_readings
from tests.worlds.prometheus.gpu_series import build_gpu_series

METRIC, GPU = "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "GPU-gpu1-0"
WARM = {"GPU_TEMP": 70, "GPU_MAX_OP_TEMP": 87, "CLOCK_THROTTLE_REASONS": 4, "PROF_PIPE_TENSOR_ACTIVE": 0.9}
ABSENT = float("nan")


def move_series(seconds: float, series: list[Series]) -> list[Series]:
    return [Series(track.labels, ((seconds, track.points[-1][1]),)) for track in series]


def read_series(*series: list[Series]) -> Readings:
    return build_readings(chain(*series), {})


def watch(looks: Iterator[tuple[float, dict[str, float]]], **differs: object) -> tuple[Watcher, list[str]]:
    """Build a watcher with one look for each time of Prometheus, which is that of its samples, and what differs from
    WARM."""
    times = [0.0]
    values: list[dict[str, float]] = [{}]
    ask = lambda: read_series(move_series(times[0], build_gpu_series("gpu1", 0, **WARM | values[0])))  # noqa: E731
    watcher = Watcher(lambda: times[0], ask, METRIC, **differs)  # type: ignore[arg-type]
    stops = []
    for times[0], values[0] in looks:
        stops.append(watcher.observe_gpus([GPU], [], times[0]))
    return watcher, stops


def test_the_highest_values_are_kept() -> None:
    hot = {"GPU_TEMP": 81.0, "CLOCK_THROTTLE_REASONS": 4 | 16}
    watcher, stops = watch(iter([(1000, {}), (1040, hot), (1070, {"PROF_PIPE_TENSOR_ACTIVE": 0.93}), (1090, {})]))
    gpus = watcher.gpus[GPU]
    assert stops == [""] * 4
    assert (gpus.temperature, gpus.throttle_reasons, gpus.highest_value) == (81.0, {"power cap", "sync boost"}, 0.93)
    assert gpus.samples == {1040, 1070, 1090}


def test_what_was_collected_before_the_load_is_not_of_it() -> None:
    """A value may be as old as the exporter's interval when it is scraped."""
    old = {"PROF_PIPE_TENSOR_ACTIVE": 0.99}
    watcher, _ = watch(iter([(1000, old), (1000 + LAG - 1, old), (1000 + LAG, {})]))
    assert watcher.gpus[GPU].highest_value == 0.9


def test_what_comes_long_after_the_load_is_not_of_it() -> None:
    watcher, _ = watch(iter([(1000, {}), (1040, {})]))
    series = iter([1061.0, 1061.0 + LAG, 1062.0 + LAG])
    for moment in series:
        watcher.server_clock = lambda moment=moment: moment  # type: ignore[misc]
        value = {"PROF_PIPE_TENSOR_ACTIVE": 0.9 + moment / 1e5}
        watcher.ask = lambda moment=moment, value=value: read_series(
            move_series(moment, build_gpu_series("gpu1", 0, **WARM | value))
        )  # type: ignore[misc]
        watcher.observe_gpus([], [GPU], moment)
    gpus = watcher.gpus[GPU]
    assert gpus.ended_at == 1061.0
    assert gpus.samples == {1040.0, 1061.0, 1061.0 + LAG}
    assert watcher.is_complete()


@pytest.mark.parametrize(
    ("values", "limit", "reason"),
    [
        ({"GPU_TEMP": 87}, None, "87 °C, and its limit is 87 °C"),
        ({"GPU_TEMP": 86}, None, ""),
        ({"GPU_TEMP": 80}, 80, "80 °C, and its limit is 80 °C"),
        ({"GPU_TEMP": 90}, 95, ""),
        ({"GPU_MAX_OP_TEMP": ABSENT, "SLOWDOWN_TEMP": 70}, None, "its limit is 70 °C"),
        ({"GPU_MAX_OP_TEMP": ABSENT, "GPU_TEMP_LIMIT": 0}, None, "no degree is left"),
        ({"GPU_MAX_OP_TEMP": ABSENT, "GPU_TEMP_LIMIT": 1}, None, ""),
        ({"CLOCK_THROTTLE_REASONS": 64}, 99, "slowed down by heat (hardware)"),
    ],
)
def test_heat_stops_the_load(values: dict[str, float], limit: int | None, reason: str) -> None:
    watcher, (_, stop) = watch(iter([(1000, {}), (1010, values)]), temperature_limit=limit)
    assert reason in stop
    assert bool(stop) == bool(reason)
    assert (reason in watcher.gpus[GPU].hot) == bool(reason) or not reason


def test_a_temperature_that_is_not_known_any_more_stops_it() -> None:
    absent_temperature = {"GPU_TEMP": ABSENT}
    assert watch(iter([(1000, {}), (1010, absent_temperature)]))[1] == [
        "",
        f"the temperature of {GPU} is not known any more",
    ]
    assert watch(iter([(1000, {}), (1010, absent_temperature)]), blind=True)[1] == ["", ""]


def test_a_prometheus_that_keeps_silent_stops_it_after_a_while() -> None:
    watcher, _ = watch(iter([(1000, {})]))

    def refuse() -> float:
        raise UnreachableError("prometheus-answer", "it is down")

    watcher.server_clock = refuse
    assert [watcher.observe_gpus([GPU], [], clock) for clock in (1060.0, 1121.0)] == [
        "",
        "Prometheus gave no answer for 120 s: it is down",
    ]
    watcher.blind = True
    assert watcher.observe_gpus([GPU], [], 1300.0) == ""


def test_without_heat_no_load_begins() -> None:
    both_gpus = [build_gpu_series("gpu1", 0, **WARM), build_gpu_series("gpu1", 1, **WARM)]
    require_temperatures(lambda: read_series(*both_gpus), {"gpu1": 2}, None)
    for series, gpus, max_share, reason in (
        (both_gpus, {"gpu1": 3}, None, "gpu1: Prometheus has the temperature of 2 of 3 GPUs"),
        (both_gpus, {"gpu2": 1}, None, "gpu2: Prometheus has the temperature of 0 of 1 GPUs"),
        (
            [build_gpu_series("gpu1", 0)],
            {"gpu1": 1},
            None,
            "gpu1: 1 of 1 GPUs do not say from when on they are too hot",
        ),
    ):
        with pytest.raises(MissingDataError) as excinfo:
            require_temperatures(lambda series=series: read_series(*series), gpus, max_share)  # type: ignore[misc]
        assert excinfo.value.reference == "gpu-heat-unknown"
        assert excinfo.value.reason == reason
    require_temperatures(lambda: read_series(build_gpu_series("gpu1", 0)), {"gpu1": 1}, 85)


def test_a_prometheus_without_gpus_begins_no_load() -> None:
    def raise_no_gpus() -> Readings:
        raise MissingDataError("gpu-no-series", "it has no metrics of GPUs")

    with pytest.raises(MissingDataError) as excinfo:
        require_temperatures(raise_no_gpus, {"gpu1": 1}, None)
    assert excinfo.value.reference == "gpu-heat-unknown"
