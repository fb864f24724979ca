from pathlib import Path

import pytest

from gpustack.errors import MissingDataError, UsageError
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.metrics.web import Access
from gpustack.profile.analysis import analyze
from gpustack.profile.file import SCHEMA, Profile, build_profile, read_profile, write_profile
from gpustack.profile.read import query_job
from gpustack.profile.selection import Selection
from gpustack.profile.window import Job
from gpustack.profile.windows import compute_increase

POD = {"exported_namespace": "team-a", "exported_pod": "train-0"}
GPU = {"gpu": "0", "UUID": "GPU-a", "hostname": "gpu1", "modelName": "NVIDIA H100 80GB HBM3", "job": "d"}
# Collected every 30 s and scraped every 15 s, for 30 minutes: each second scrape repeats the one before.
TIMES = [1000.0 + 15 * number for number in range(120)]
FIELDS = {
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.99,
    "DCGM_FI_PROF_SM_ACTIVE": 0.9,
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.06,
    "DCGM_FI_PROF_DRAM_ACTIVE": 0.7,
    "DCGM_FI_DEV_PCIE_LINK_GEN": 5,
    "DCGM_FI_DEV_PCIE_LINK_WIDTH": 16,
    "DCGM_FI_DEV_POWER_USAGE": 500,
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT": 700,
}


def build_series(labels: dict[str, str], times: list[float] = TIMES) -> list[Series]:
    series = [
        Series({"__name__": name, **GPU, **labels}, tuple((moment, value) for moment in times))
        for name, value in FIELDS.items()
    ]
    energy = tuple((moment, 1e6 + moment // 30 * 15_000) for moment in times)
    slow_counter = tuple((moment, (moment - 1000) * 0.5e9) for moment in times)
    series.append(Series({"__name__": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", **GPU, **labels}, energy))
    name = "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS"
    return [*series, Series({"__name__": name, **GPU, **labels}, slow_counter)]


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Queries; every answer has the same series."""
    queries: list[str] = []

    def answer(self: Prometheus, expr: str, time: float | None = None) -> tuple[Series, ...]:
        queries.append(expr)
        return tuple(build_series(POD))

    monkeypatch.setattr(Prometheus, "query_instant", answer)
    return queries


def query_window(selection: Selection, end: float = 2800.0) -> Job:
    return query_job(Prometheus(Access("http://prometheus.example.org")), selection, 1000.0, end)


def test_repeated_scrapes_are_no_samples(queries: list[str]) -> None:
    (window,) = query_window(Selection("team-a", "train-0")).windows
    assert (window.samples, window.interval) == (60, 30.0)
    assert window.pods == ("team-a/train-0",)
    assert window.pcie_peak == pytest.approx(63e9, rel=0.01)
    assert window.nvlink_peak == 450e9
    assert window.throttle_shares["power_cap"] == pytest.approx(0.5, rel=0.01)
    assert window.gaps < 0.05


def test_only_the_pod_s_series_are_asked_for_whatever_its_labels_are_called(queries: list[str]) -> None:
    query_window(Selection("team-a", "train-0"))
    of_gpus = [query for query in queries if "DCGM" in query]
    assert ['exported_pod="train-0"' in query for query in of_gpus] == [True, False]
    assert all(query.endswith("[1800s]") for query in of_gpus)


def test_a_name_cannot_end_the_query(queries: list[str]) -> None:
    with pytest.raises(MissingDataError):
        query_window(Selection("team-a", 'x"} or vector(1) #'))
    assert all('pod="x\\"}' in query for query in queries)


def test_another_pod_s_gpu_is_not_taken(queries: list[str]) -> None:
    with pytest.raises(MissingDataError) as excinfo:
        query_window(Selection("team-a", "train-1"))
    assert excinfo.value.reference == "profile-nothing"


def test_a_time_without_samples_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prometheus, "query_instant", lambda *_: tuple(build_series(POD, [*TIMES[:40], *TIMES[80:]])))
    (window,) = query_window(Selection(uuid="GPU-a")).windows
    assert window.gaps == pytest.approx(600 / 1800, abs=0.05)


def test_a_pod_that_ended_early_leaves_a_gap_at_the_end(queries: list[str]) -> None:
    assert query_window(Selection(node="gpu1"), end=4600.0).windows[0].gaps == pytest.approx(0.5, abs=0.05)


def test_a_pod_s_time_begins_and_ends_with_it(queries: list[str]) -> None:
    """The time that was asked for does not count: it is no gap that the pod was not there yet."""
    (window,) = query_window(Selection("team-a", "train-0"), end=4600.0).windows
    assert window.seconds == pytest.approx(1800, abs=40)
    assert window.gaps == 0


@pytest.mark.parametrize(("values", "increase"), [([0, 5, 9], 9), ([5, 9, 2, 4], 8), ([3], 0), ([], 0)])
def test_a_counter_that_begins_anew_goes_on(values: list[float], increase: float) -> None:
    assert compute_increase(dict(enumerate(values))) == increase


def test_a_file_keeps_everything(queries: list[str], tmp_path: Path) -> None:
    profile = Profile(SCHEMA, "run1", "team-a/train-0", 1000.0, 2800.0, query_window(Selection("team-a", "train-0")))
    write_profile(profile, tmp_path / "run1.json")
    second_profile = read_profile(tmp_path / "run1.json")
    assert analyze(second_profile).verdict == analyze(profile).verdict
    assert analyze(second_profile).verdict.id == "memory-bound"
    assert [path.name for path in tmp_path.iterdir()] == ["run1.json"]


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"not json", b'{"schema": "gpustack/profile/v2", "label": ""', b"\xff"]
)
def test_what_is_no_profile_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UsageError) as excinfo:
        read_profile(tmp_path / "x")
    assert excinfo.value.reference == "profile-file"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            b'{"schema": "gpustack/recording/v2", "hosts": []}\n{}\n',
            "`gpustack snapshot` wrote it, for commands",
        ),
        (b'{"schema": "gpustack/queries/v1"}\n{}\n', "a command such as `gpustack gpu list` wrote it"),
        (b'{\n  "schema": "gpustack/doctor/v1",', "it is a result of `-o json`, which no command reads"),
        (b"\xfd7zXZ\x00", "it is compressed: unpack it with `unxz` first"),
    ],
)
def test_a_file_of_another_command_is_named_as_that(content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UsageError) as excinfo:
        read_profile(tmp_path / "x")
    assert reason in excinfo.value.reason


@pytest.mark.parametrize(
    ("version", "release"), [("v0", "An older release"), ("v1", "An older release"), ("v3", "A newer release")]
)
def test_a_file_of_another_release_is_named_as_that(
    queries: list[str], tmp_path: Path, version: str, release: str
) -> None:
    profile = Profile(f"gpustack/profile/{version}", "", "x", 0, 1, query_window(Selection(node="gpu1")))
    write_profile(profile, tmp_path / "x")
    with pytest.raises(UsageError) as excinfo:
        read_profile(tmp_path / "x")
    assert excinfo.value.reason.startswith(f"{release} wrote it")
    assert version in excinfo.value.message


def test_a_pod_that_shares_its_gpu_gets_a_low_verdict_and_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """dcgm-exporter 4.8.2 with --kubernetes-virtual-gpus repeats the values of the GPU for each pod, by label vgpu."""
    series = build_series({**POD, "vgpu": "1"})
    monkeypatch.setattr(Prometheus, "query_instant", lambda *_, **__: tuple(series))
    analysis = analyze(
        build_profile(query_window(Selection("team-a", "train-0")), "team-a/train-0", "", 1000.0, 2800.0)
    )
    assert (analysis.verdict.id, analysis.verdict.confidence) == ("memory-bound", "low")
    assert analysis.verdict.notes[-1].startswith("Several pods can share these GPUs")


def test_the_value_of_the_gpu_counts_more_than_that_of_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exporter, since 4.8.2, has utilisation of the GPU, without a pod, beside that of each pod's processes."""

    def build_utilisation(value: float, labels: dict[str, str]) -> Series:
        return Series({"__name__": "DCGM_FI_DEV_GPU_UTIL", **GPU, **labels}, tuple((moment, value) for moment in TIMES))

    series = [build_utilisation(80, {}), build_utilisation(25, {**POD, "vgpu": "0"}), *build_series({})]
    monkeypatch.setattr(Prometheus, "query_instant", lambda *_, **__: tuple(series))
    (window,) = query_window(Selection(node="gpu1")).windows
    assert window.compute_mean("utilisation") == pytest.approx(0.8)


@pytest.mark.parametrize(("labels", "expected_total"), [(POD, 23033 * 2**20), ({**POD, "vgpu": "1"}, None)])
def test_the_size_of_memory_is_the_sum_of_its_parts(
    labels: dict[str, str], expected_total: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts are those of tests/recorded/exporter-pages/l4.prom, whose exporter sends no total."""
    parts = {"USED": 0, "FREE": 22563, "RESERVED": 470}
    series = [
        Series({"__name__": f"DCGM_FI_DEV_FB_{name}", **GPU, **labels}, tuple((moment, value) for moment in TIMES))
        for name, value in parts.items()
    ]
    monkeypatch.setattr(Prometheus, "query_instant", lambda *_, **__: (*series, *build_series(labels)))
    (window,) = query_window(Selection("team-a", "train-0")).windows
    assert window.memory_total == expected_total
