from itertools import chain

import pytest

from gpustack.gpus.activity import SORTS, build_activity, sort_activity
from gpustack.metrics.readings import build_readings
from gpustack.report.gpus.activity import format_activity, list_notes
from tests.worlds.prometheus.gpu_series import BUSY, HEALTHY, build_gpu_series, make_activity, make_working_gpus

NAN = float("nan")
POD = {"exported_namespace": "team-a", "exported_pod": "train-0"}


def test_a_busy_gpu_shows_its_activity() -> None:
    (work,) = make_activity(build_gpu_series("gpu1", 0, POD, **BUSY)).gpus
    assert (work.sm, work.tensor, work.dram) == (0.85, 0.4, 0.5)
    assert (work.power, work.power_limit, work.throttle_reasons) == (640, 700, ("power cap",))
    assert work.memory == 60000 * 2**20


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0, ()),
        (1, ()),
        (1 | 2 | 256, ()),
        (8 | 64, ("hardware", "heat (hardware)")),
        (128, ("power brake",)),
        (NAN, None),
    ],
)
def test_idle_and_settings_slow_nothing_down(bits: float, words: tuple[str, ...] | None) -> None:
    (work,) = make_activity(build_gpu_series("gpu1", 0, **BUSY | {"CLOCK_THROTTLE_REASONS": bits})).gpus
    assert work.throttle_reasons == words


def test_what_a_gpu_does_not_say_is_not_zero() -> None:
    (work,) = make_activity(build_gpu_series("gpu1", 0, PROF_GR_ENGINE_ACTIVE=0.3)).gpus
    assert (work.sm, work.tensor, work.power, work.throttle_reasons) == (None, None, None, None)


def test_a_pod_has_the_mean_of_its_gpus_and_the_sum_of_their_power() -> None:
    pod_work, two = make_working_gpus().pods
    assert (pod_work.owner.pod, pod_work.gpus, pod_work.power) == ("train-0", 2, 1280)
    assert pod_work.sm == pytest.approx(0.8)
    assert (two.owner.pod, two.gpus, two.sm) == ("serve-0", 1, None)


def test_a_pod_of_which_one_gpu_says_nothing_is_not_known() -> None:
    silent = {name: NAN for name in BUSY if name.startswith("PROF_")}
    activity = make_activity(
        build_gpu_series("gpu1", 0, POD, **BUSY), build_gpu_series("gpu1", 1, POD, **BUSY | silent)
    )
    assert activity.pods[0].sm is None
    assert activity.pods[0].power == 1280


@pytest.mark.parametrize(("other_pod", "power"), [("train-0", 314), ("serve-0", None)])
def test_the_power_of_a_board_counts_once(other_pod: str, power: float | None) -> None:
    """MIG instances have the figures of their board, which belong to no pod where several have a part of it."""
    parts = [
        {**POD, "exported_pod": pod, "GPU_I_ID": number, "GPU_I_PROFILE": "3g.40gb"}
        for pod, number in (("train-0", "1"), (other_pod, "2"))
    ]
    readings = build_readings(
        chain(*(build_gpu_series("gpu1", 0, part, **BUSY | {"POWER_USAGE": 314}) for part in parts)), {}
    )
    activity = build_activity(readings)
    assert {pod.power for pod in activity.pods} == {power}
    assert sum(pod.memory or 0 for pod in activity.pods) == 2 * 60000 * 2**20
    assert [gpu.power for gpu in activity.gpus] == [314, 314]
    own_part = build_activity(readings, lambda gpu: gpu.gpu.instance == "1")
    assert [pod.power for pod in own_part.pods] == [power]


def test_utilisation_stands_for_what_no_profiling_field_measures() -> None:
    unmeasured_values = {name: NAN for name in BUSY if name.startswith("PROF_")}
    activity = make_activity(
        build_gpu_series("gpu1", 0, POD, **BUSY | {"GPU_UTIL": 99}),
        build_gpu_series("gpu2", 0, POD | {"exported_pod": "draw-0"}, **BUSY | unmeasured_values | {"GPU_UTIL": 91}),
        build_gpu_series("gpu3", 0, POD | {"exported_pod": "mute-0"}, **BUSY | unmeasured_values),
    )
    assert [*map(format_activity, activity.gpus), *map(format_activity, activity.pods)] == [
        "85 %", "91 %**", "-", "91 %**", "-", "85 %",
    ]  # fmt: skip
    assert "** utilisation, the time with any kernel: no profiling field is measured" in list_notes(activity)


def test_a_shared_gpu_counts_for_each_of_its_pods() -> None:
    series_of_pods = [
        {"exported_namespace": "team-a", "exported_pod": f"serve-{number}", "vgpu": str(number)} for number in (0, 1)
    ]
    activity = make_activity(
        *(build_gpu_series("gpu1", 0, labels, **BUSY) for labels in series_of_pods),
        build_gpu_series("gpu1", 1, POD, **BUSY),
    )
    assert [(pod.owner.pod, pod.gpus, pod.shared_gpus) for pod in activity.pods] == [
        ("serve-0", 1, 1), ("serve-1", 1, 1), ("train-0", 1, 0),
    ]  # fmt: skip
    assert len(activity.gpus) == 2


def test_what_no_gpu_of_a_model_has_is_named() -> None:
    assert make_working_gpus().lacking == {
        "Tesla T4": ("DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE")
    }


@pytest.mark.parametrize("order", SORTS)
def test_the_highest_stand_first_and_the_unknown_last(order: str) -> None:
    values = [getattr(work, order, None) for work in sort_activity(make_working_gpus(), order).gpus]
    known_values = [value for value in values if value is not None]
    assert known_values == sorted(known_values, reverse=True)
    assert None not in values[: len(known_values)]


def test_by_node_they_stand_as_in_the_list() -> None:
    assert [(work.gpu.node, work.gpu.index) for work in sort_activity(make_working_gpus(), "node").gpus] == [
        ("gpu1", "0"), ("gpu1", "1"), ("gpu1", "2"), ("gpu2", "0"),
    ]  # fmt: skip


DEAD_COUNTERS = {name: 0 for name in BUSY if name.startswith("PROF_")}
"""NVIDIA/dcgm-exporter#662: all profiling fields of a GPU that works are 0."""


def test_profiling_counters_that_stand_still_at_full_power_are_unknown() -> None:
    activity = make_activity(
        build_gpu_series("gpu1", 0, POD, **BUSY | DEAD_COUNTERS, GPU_UTIL=99), build_gpu_series("gpu1", 1, POD, **BUSY)
    )
    dead, working = activity.gpus
    assert (dead.engine, dead.sm, dead.tensor, dead.dram) == (None, None, None, None)
    assert (dead.utilisation, dead.power, working.sm) == (0.99, 640, 0.85)
    (pod,) = activity.pods
    assert (pod.sm, pod.power) == (None, 1280)
    (doubt,) = activity.doubts
    assert "gpu1 GPU 0: DCGM_FI_PROF_GR_ENGINE_ACTIVE is 0 %, DCGM_FI_DEV_GPU_UTIL is 99 %" in doubt
    assert "restart the DCGM host engine" in doubt
    assert activity.lacking == {}, "the exporter has the fields"


def test_a_gpu_with_two_contradicting_values_alone_keeps_neither() -> None:
    values = dict.fromkeys(HEALTHY, NAN) | {"PROF_SM_ACTIVE": 0.9, "PROF_GR_ENGINE_ACTIVE": 0.1}
    (work,) = make_activity(build_gpu_series("gpu1", 0, POD, **values)).gpus
    assert (work.engine, work.sm, work.contradictory) == (None, None, True)
    assert work.time == 1000


def test_values_that_agree_are_believed() -> None:
    idle = dict.fromkeys(BUSY, 0) | {"POWER_USAGE": 70, "ENFORCED_POWER_LIMIT": 700, "GPU_UTIL": 0}
    (work,) = make_activity(build_gpu_series("gpu1", 0, **idle)).gpus
    assert (work.engine, work.contradictory) == (0, False)
