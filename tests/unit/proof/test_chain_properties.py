"""Whatever is asked and answered: no GPU is lost, none is counted twice, and nothing unasked holds."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gpustack.proof.chain import PanelComparison, ProofAnswers, judge
from gpustack.proof.workload import PodResult
from tests.unit.proof.proof_inputs import (
    TIME,
    UUIDS,
    build_pod,
    build_sample,
    build_series,
    make_answers,
    place,
)

NUMBERS = st.integers(0, 3)
SAMPLES = st.builds(
    lambda number, uuid, age, node, owner: build_sample(
        number, uuid=uuid, timestamp=TIME - age, node=node, owner=owner
    ),
    NUMBERS,
    st.sampled_from([*UUIDS, "GPU-00000009-0000-0000-0000-000000000009"]),
    st.sampled_from([1.0, 29.0, 33.0, 200.0]),
    st.sampled_from(["gpu1", "gpu2", ""]),
    st.sampled_from(["", "default/train-0", "gpustack-proof/proof-0"]),
)
PODS = st.builds(
    lambda number, ran, has_name, stage: replace(
        build_pod(number),
        ran=ran,
        stage=stage if not has_name else "held",
        gpus=build_pod(number).gpus if has_name else (),
        reason="why",
    ),
    NUMBERS,
    st.sampled_from([True, True, False, None]),
    st.booleans(),
    st.sampled_from(["failed", "stuck"]),
)
PLACES = st.builds(
    lambda gpus, lost_gpus, busy, devices, is_closed: (
        place("gpu1", gpus=gpus, capacity=gpus, allocatable=max(gpus - lost_gpus, 0), busy=busy, devices=devices),
        place("gpu2", closed_reason=is_closed),
    ),
    st.integers(0, 4),
    st.integers(0, 4),
    st.integers(0, 4),
    st.none() | st.integers(0, 4),
    st.sampled_from(["", "cordoned"]),
)
POINTS = st.dictionaries(st.sampled_from(UUIDS), st.tuples(st.just(TIME), st.sampled_from([40.0, 41.0])))
TRUTHS = st.dictionaries(st.sampled_from(UUIDS), st.sampled_from([40.0, 41.0]))
WORLDS = st.builds(
    lambda places, value, samples, points, truths: make_answers(
        places=places, pods=tuple(value), series=build_series(samples), comparison=PanelComparison(points, truths)
    ),
    PLACES,
    st.lists(PODS, max_size=6),
    st.lists(SAMPLES, max_size=6),
    POINTS,
    TRUTHS,
)


@given(WORLDS)
def test_every_gpu_has_one_row(world: ProofAnswers) -> None:
    rows = judge(world)
    named_uuids = [row.uuid for row in rows if row.uuid]
    assert len(set(named_uuids)) == len(named_uuids)
    seen_uuids = {pod.gpus[0].uuid for pod in world.pods if pod.gpus}
    assert seen_uuids <= set(named_uuids)
    for gpu_place in world.places:
        assert len([row for row in rows if row.node == gpu_place.node]) >= (gpu_place.gpus or 0)


@given(WORLDS)
def test_a_kernel_holds_only_where_a_pod_ran_it(world: ProofAnswers) -> None:
    for row in judge(world):
        mine = [pod for pod in world.pods if pod.gpus and pod.gpus[0].uuid == row.uuid]
        assert (row.kernel.outcome == "ok") == bool(mine and all(pod_result.ran for pod_result in mine))
        if row.kernel.outcome == "skipped":
            assert any(place.busy for place in world.places if place.node == row.node)


@given(WORLDS)
def test_what_does_not_hold_says_why(world: ProofAnswers) -> None:
    for row in judge(world):
        assert all((link.outcome == "ok") == (not link.reason) for _, link in row.links)


@given(WORLDS)
def test_without_answers_nothing_of_the_monitoring_holds(world: ProofAnswers) -> None:
    blind = replace(world, series="no answer", comparison="no answer")
    assert {row.series.outcome for row in judge(blind)} <= {"unknown"}
    assert {row.panel.outcome for row in judge(blind)} <= {"unknown"}


@given(WORLDS)
def test_the_panel_holds_only_where_both_say_the_same(world: ProofAnswers) -> None:
    assert isinstance(world.comparison, PanelComparison)
    for row in judge(world):
        if row.panel.outcome == "ok":
            assert world.comparison.panel[row.uuid][1] == world.comparison.truth[row.uuid]


@given(st.lists(PODS, max_size=4))
def test_pods_alone_make_rows(pods: list[PodResult]) -> None:
    rows = judge(make_answers(pods=tuple(pods), series="no answer", comparison="no answer"))
    assert len(rows) >= 4
