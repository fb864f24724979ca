"""The series of a life, read back: they say what the truth says, up to the time between two scrapes."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.worlds.life.draw import Life, draw
from tests.worlds.life.samples import Track

STEP = 60
REQUESTS, PHASE, ACTIVE = (
    "kube_pod_container_resource_requests",
    "kube_pod_status_phase",
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
)
lives = pytest.mark.parametrize("life", [draw(seed, small=True) for seed in (1, 2)], ids=(1, 2))


def is_first(life: Life, track: Track) -> bool:
    """Tell whether a track is of the first kube-state-metrics, or the first monitor."""
    target = life.scrapes.kube_state[0].generations
    instances = {labels["instance"] for _, _, labels in target} if "uid" in track.labels else set()
    return track.labels["instance"] in instances or track.labels["job"] == "nvidia-dcgm-exporter"


def compute_hours(track: Track) -> float:
    return sum(count * value for _, count, value in track.runs) * track.step / 3600


@lives
def test_requests_of_pods_that_have_not_ended_are_what_is_allocated(life: Life) -> None:
    units, ended_units = defaultdict[str, float](float), defaultdict[str, float](float)
    for track in life.build_series(STEP, {REQUESTS, PHASE}):
        labels = track.labels
        if not is_first(life, track):
            continue
        if labels["__name__"] == PHASE and labels["phase"] in ("Succeeded", "Failed"):
            ended_units[labels["uid"]] += compute_hours(track)
        elif labels.get("unit") == "integer" and labels.get("node"):
            units[labels["uid"]] += compute_hours(track)
    truth = life.truth.compute_hours(
        ("uid",), unit="units", holes=life.scrapes.list_gaps(life.start, life.truth.known_end)
    )
    sizes = {pod.uid: pod.units for pod in life.truth.pods}
    differences = {uid: hours - sizes[uid] * ended_units[uid] for uid, hours in units.items()}
    for (uid,), hours in truth.items():
        assert differences.get(uid, 0.0) == pytest.approx(hours, abs=sizes[uid] * 12 * STEP / 3600)
    assert sum(differences.values()) == pytest.approx(sum(truth.values()), rel=0.001)


@lives
def test_engines_are_as_busy_as_the_pods_that_have_them(life: Life) -> None:
    sliced_nodes = {node.name for node in life.nodes if node.pool.sharing == "time-slicing"}
    active, idle = defaultdict[str, float](float), defaultdict[str, float](float)
    for track in life.build_series(STEP, {ACTIVE}):
        if is_first(life, track) and track.labels["hostname"] not in sliced_nodes:
            namespace = track.labels.get("exported_namespace", "")
            active[namespace] += compute_hours(track)
            idle[namespace] += sum(count for _, count, value in track.runs if value == 0) * STEP / 3600
    assert active.pop("") == pytest.approx(0, abs=0.1)  # a free GPU does nothing
    assert idle.pop("") > 100
    # What exporters were not asked is missing: restarts, slow scrapes, Prometheus itself.
    for quantity, measured_hours in (("active", active), ("idle", idle)):
        truth = life.truth.compute_hours(
            ("namespace",), quantity, unit="units", of=lambda pod: pod.on not in sliced_nodes
        )
        assert measured_hours == pytest.approx({name: hours for (name,), hours in truth.items()}, rel=0.02, abs=0.2)


@lives
def test_samples_are_in_order_and_series_end_once(life: Life) -> None:
    times: Counter[int] = Counter()
    for track in life.build_series(STEP):
        times[hash(frozenset(track.labels.items()))] += 1
        assert all(value for value in track.labels.values())
        spans = [(begin, begin + count * STEP) for begin, count, _ in track.runs]
        assert all(begin < end for begin, end in spans)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
        assert life.start <= spans[0][0]
        assert spans[-1][1] <= life.truth.known_end + STEP
        ends = {end for _, end in spans}
        assert set(track.stale) <= ends - {begin for begin, _ in spans}
    assert times.most_common(1)[0][1] == 1


def test_points_are_what_a_range_selector_has() -> None:
    track = Track({"__name__": "up"}, 60, [(100, 3, 1.0), (280, 1, 0.0)], [340])
    assert track.select_points() == ((100, 1), (160, 1), (220, 1), (280, 0))
    assert track.select_points(160, 220) == ((160, 1), (220, 1))


def test_two_monitors_say_the_same_twice() -> None:
    life = next(life for seed in range(20) if len((life := draw(seed, small=True)).scrapes.exporters["h100-1"]) > 1)
    hours = defaultdict[str, float](float)
    for track in life.build_series(STEP, {ACTIVE}):
        hours[track.labels["job"]] += compute_hours(track)
    assert 0 < hours["gpustack-dcgm"] < hours["nvidia-dcgm-exporter"]


def test_mig_has_instances_only_and_free_gpus_have_no_pod() -> None:
    life = draw(2, small=True)
    kinds = {node.name: node.pool for node in life.nodes}
    for labels in list_labels(life, {ACTIVE, "DCGM_FI_DEV_GPU_UTIL"}):
        mig = kinds[labels["hostname"]].sharing == "mig"
        assert ("GPU_I_ID" in labels) == mig
        assert not (mig and labels["__name__"] == "DCGM_FI_DEV_GPU_UTIL")
        assert labels["pod"].startswith("nvidia-dcgm-exporter-")
    assert any("exported_pod" not in labels for labels in list_labels(life, {ACTIVE}))


def list_labels(life: Life, names: set[str]) -> Iterator[dict[str, str]]:
    return (dict(track.labels) for track in life.build_series(STEP, names))
