"""`gpustack profile` as typed."""

import dataclasses
import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gpustack.cli.options import parse_duration
from gpustack.cli.profile.commands import app
from gpustack.errors import MissingDataError, UnreachableError, UsageError
from gpustack.metrics.exposition import Family, parse_families
from gpustack.metrics.web import Web
from gpustack.profile.file import SCHEMA, Profile, build_profile, read_profile, write_profile
from gpustack.profile.limits import Limits
from gpustack.profile.window import Job
from tests.worlds.prometheus.exporter_page import render_page
from tests.worlds.prometheus.windows import COMPUTE, build_window
from tests.worlds.prometheus.workloads import make_job

ADDRESS = ("--prometheus", "http://prometheus.example.org")


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Job:
    job = make_job("memory bandwidth", random.Random(3))
    monkeypatch.setattr("gpustack.profile.recording.query_job", lambda *_: job)
    monkeypatch.setattr("gpustack.profile.recording.query_windows", lambda *_: job.windows)
    monkeypatch.setattr("gpustack.metrics.prometheus.Prometheus.fetch_time", lambda _: 5000.0)
    return job


def test_a_file_is_judged(job: Job, tmp_path: Path) -> None:
    write_profile(Profile(SCHEMA, "run1", "team-a/train-0", 0, 1, job), tmp_path / "run1.json")
    result = CliRunner().invoke(app, ["analyze", str(tmp_path / "run1.json"), "-o", "json"], catch_exceptions=False)
    document = json.loads(result.stdout)
    assert (document["schema"], document["label"]) == ("gpustack/analysis/v1", "run1")
    assert result.exit_code == document["exit"]["code"]


def test_a_pod_is_judged(job: Job) -> None:
    result = CliRunner().invoke(app, ["analyze", *ADDRESS, "--pod", "team-a/train-0"], catch_exceptions=False)
    assert "ruled out" in result.stdout


def test_a_recording_is_kept_also_after_ctrl_c(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    words = ["record", *ADDRESS, "--node", "gpu1", "--for", "15m", "-q", "--out", str(tmp_path / "x.json")]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert read_profile(tmp_path / "x.json").subject == "gpu1"


@pytest.mark.parametrize(("duration", "says"), [("90s", True), ("9m", False)])
def test_a_record_with_too_few_samples_is_told_at_once(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, duration: str, says: bool
) -> None:
    windows = [replace(window, interval=15.0) for window in job.windows]
    monkeypatch.setattr("gpustack.profile.recording.query_windows", lambda *_: windows)
    monkeypatch.setattr("gpustack.profile.recording.wait_for_end", lambda *_: None)
    words = ["record", *ADDRESS, "--node", "gpu1", "--for", duration, "--out", str(tmp_path / "x.json")]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    note = "gpu1: 1 min 30 s give less than the 10 samples of a verdict: one in 15 s, so that 10 take 150 s"
    assert (note in result.output) == says


def test_an_exporter_itself_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exporter may not answer for a while."""
    clock, requests = [0.0], []

    def fetch(web: Web) -> tuple[Family, ...]:
        requests.append(web.access.url)
        if len(requests) == 5:
            raise UnreachableError("exporter-answer", "x")
        return parse_families(render_page(clock[0]))

    monkeypatch.setattr("gpustack.profile.recording.fetch_families", fetch)
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    monkeypatch.setattr("time.sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    words = ["record", "--exporter", "http://gpu1:9400/metrics", "--for", "1m", "-q", "--out", str(tmp_path / "x.json")]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert set(requests) == {"http://gpu1:9400/metrics"}
    assert read_profile(tmp_path / "x.json").job.windows[0].samples > 40
    assert "not measured: occupancy" in result.output


def test_a_baseline_is_recorded_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr("time.monotonic", iter(range(0, 100_000, 100)).__next__)
    monkeypatch.setattr("gpustack.metrics.prometheus.Prometheus.fetch_time", lambda _: 5000.0)
    jobs = iter((make_job("nothing", random.Random(1)), make_job("compute", random.Random(2))))
    monkeypatch.setattr("gpustack.profile.recording.query_job", lambda *_: next(jobs))
    monkeypatch.setattr("gpustack.profile.recording.query_windows", lambda *_: ())
    file = str(tmp_path / "idle.json")
    result = CliRunner().invoke(
        app, ["baseline", *ADDRESS, "--node", "gpu1", "-q", "--out", file], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    words = ["analyze", *ADDRESS, "--pod", "a/b", "--baseline", file]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert "over idle" in result.stdout
    assert "when idle" in result.stdout


def test_busy_gpus_give_no_baseline(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr("time.monotonic", iter(range(0, 100_000, 100)).__next__)
    result = CliRunner().invoke(
        app, ["baseline", *ADDRESS, "--node", "gpu1", "-q", "--out", str(tmp_path / "idle.json")]
    )
    assert isinstance(result.exception, MissingDataError)
    assert result.exception.reference == "profile-not-idle"
    assert list(tmp_path.iterdir()) == []


def test_two_files_are_compared(tmp_path: Path) -> None:
    for name, seed in (("before", 1), ("after", 2)):
        job = Job((build_window(COMPUTE, seed=seed),))
        write_profile(build_profile(job, "a/b", name, 0, 1), tmp_path / f"{name}.json")
    files = [str(tmp_path / "before.json"), str(tmp_path / "after.json")]
    result = CliRunner().invoke(
        app, ["compare", *files, "--fail-if", "tensor<-5%", "-o", "json"], catch_exceptions=False
    )
    document = json.loads(result.stdout)
    assert (document["schema"], document["outcome"]) == ("gpustack/comparison/v1", "same")
    assert result.exit_code == document["exit"]["code"] == 0
    page = CliRunner().invoke(app, ["compare", *files, "-o", "html"], catch_exceptions=False).stdout
    assert "no difference that this data can show" in page


@pytest.mark.parametrize(
    "words", [[], ["--pod", "a/b", "--node", "c"], ["--pod", "a"], ["--node", "a", "--since", "soon"]]
)
def test_wrong_usage_is_refused(words: list[str]) -> None:
    assert CliRunner().invoke(app, ["analyze", *ADDRESS, *words]).exit_code == 2


def test_a_file_and_a_pod_exclude_each_other(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["analyze", str(tmp_path / "x"), "--pod", "a/b"])
    assert isinstance(result.exception, UsageError)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("15m", 900), ("1h30m", 5400), ("1d", 86400)])
def test_durations_are_parsed(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "soon", "m15", "-5m", "1.5h"])
def test_other_texts_are_no_durations(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        parse_duration(text)


@pytest.mark.parametrize("columns", [40, 120])
def test_thresholds_fit_the_terminal(columns: int) -> None:
    lines = CliRunner().invoke(app, ["thresholds"], env={"COLUMNS": str(columns)}).stdout.splitlines()
    assert max(map(len, lines)) <= columns
    assert sum("tensor_reachable" in line for line in lines) == 1


def test_the_help_of_thresholds_explains_each_kind_of_source() -> None:
    sources = [field.metadata["source"] for field in dataclasses.fields(Limits)]
    marks = {mark for source in sources for mark in re.findall(r"\[[A-Z]\]", source)}
    text = CliRunner().invoke(app, ["thresholds", "--help"]).stdout
    assert len(marks) > 2
    assert [mark for mark in sorted(marks) if mark not in text] == []
