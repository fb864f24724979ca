"""The nodes of a load are those of its GPUs, and no load begins where a temperature has to be known and is not."""

from dataclasses import replace

import pytest

from gpustack.burn.nodes import choose_nodes
from gpustack.burn.watch import Watcher
from gpustack.engines.engine import Engine, Engines
from gpustack.errors import GpustackError, MissingDataError
from gpustack.metrics.readings import Readings, build_readings
from tests.worlds.programs.engines import ACTING
from tests.worlds.prometheus.gpu_series import build_gpu_series
from tests.worlds.snapshots.build import TAKEN_AT

IDLE = Engines(
    (Engine("gpu1", ACTING, gpus=2, free=1), Engine("gpu2", ACTING, gpus=2, free=2)),
    {"gpu3": "its GPUs are in use: team-a/train-0"},
    ACTING,
    {},
    TAKEN_AT,
)
WARM = {"GPU_TEMP": 70, "GPU_MAX_OP_TEMP": 87}


def read_gpus() -> Readings:
    places = [(node, index) for node in ("gpu1", "gpu2", "gpu3") for index in (0, 1)]
    return build_readings([series for place in places for series in build_gpu_series(*place, **WARM)], {})


WATCHER = Watcher(lambda: 1000.0, read_gpus, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE")


def list_nodes(engines: Engines) -> list[str]:
    return [engine.node for engine in engines.members]


def test_the_node_with_most_free_gpus_is_chosen() -> None:
    engines = choose_nodes(IDLE, [], WATCHER, several=False)
    assert (list_nodes(engines), engines.unread) == (["gpu2"], {})


def test_all_named_nodes_are_chosen() -> None:
    assert choose_nodes(IDLE, [], WATCHER, several=True) == IDLE


def test_the_nodes_of_gpus_are_chosen_and_others_have_a_reason() -> None:
    engines = choose_nodes(IDLE, ["GPU-gpu1-0", "GPU-gpu3-1"], WATCHER, several=False)
    assert (list_nodes(engines), engines.unread) == (["gpu1"], IDLE.unread)


@pytest.mark.parametrize(
    ("uuid", "reference", "reason"),
    [
        ("GPU-none", "gpu-no-gpu", "Prometheus has no metrics of it."),
        ("GPU-gpu3-0", "gpu-none-free", "gpu3: its GPUs are in use: team-a/train-0"),
    ],
)
def test_a_gpu_that_cannot_be_loaded_is_an_error(uuid: str, reference: str, reason: str) -> None:
    with pytest.raises(GpustackError) as excinfo:
        choose_nodes(IDLE, [uuid], WATCHER, several=False)
    assert (excinfo.value.reference, excinfo.value.reason) == (reference, reason)


def test_an_unknown_temperature_is_an_error_unless_it_need_not_be_known() -> None:
    watcher = replace(WATCHER, ask=lambda: build_readings(build_gpu_series("gpu2", 0, **WARM), {}))
    with pytest.raises(MissingDataError) as excinfo:
        choose_nodes(IDLE, [], watcher, several=False)
    assert excinfo.value.reason == "gpu2: Prometheus has the temperature of 1 of 2 GPUs"
    assert list_nodes(choose_nodes(IDLE, [], replace(watcher, blind=True), several=False)) == ["gpu2"]
    assert list_nodes(choose_nodes(IDLE, [], None, several=False)) == ["gpu2"]
