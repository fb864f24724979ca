import pytest

from gpustack.gpus.activity import SORTS, sort_activity
from tests.worlds.prometheus.gpu_series import BUSY, build_gpu_series, make_activity, make_working_gpus

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
