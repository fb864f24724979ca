"""Rounds: one after the other, only what changed, and the exit status of the last one."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpustack.cli import doctor_watch
from gpustack.cli.app import app
from gpustack.cli.commands import doctor
from gpustack.cli.doctor_watch import Watcher, run_rounds
from gpustack.doctor.finding import Diagnosis
from gpustack.errors import UsageError
from tests.worlds.results.diagnoses import make_diagnosis, make_healthy_diagnosis, make_ufw_diagnosis

FORWARDING_OFF = {"host-ip-forward-off@gpu1": "!0"}


def interrupt_after(times: int) -> Callable[[float], None]:
    """Return a wait that takes no time; the last one is ended by Ctrl-C."""
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == times:
            raise KeyboardInterrupt

    return wait


def test_it_ends_with_the_code_of_the_last_round() -> None:
    codes = iter([0, 8, 1])
    assert run_rounds(60, lambda: next(codes), interrupt_after(3)) == 1


def test_a_round_that_was_broken_off_does_not_count() -> None:
    codes: Iterator[int] = iter([1])

    def interrupt_round() -> int:
        for code in codes:
            return code
        raise KeyboardInterrupt

    assert run_rounds(60, interrupt_round, interrupt_after(9)) == 1


def test_an_interrupt_in_the_first_round_is_raised() -> None:
    def interrupt_round() -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_rounds(60, interrupt_round, interrupt_after(9))


def test_a_long_round_is_followed_at_once_and_never_overlapped(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 7.0, 7.0, 107.0])
    waits: list[float] = []
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            raise KeyboardInterrupt

    run_rounds(60, lambda: 0, wait)
    assert waits == [53.0, 0.0]


def watch_diagnoses(diagnoses: list[Diagnosis], capsys: pytest.CaptureFixture[str], output: str = "human") -> list[str]:
    watcher = Watcher(output, verbose=False)
    results = []
    for diagnosis in diagnoses:
        watcher.show(diagnosis)
        results.append(capsys.readouterr().out)
    return results


def test_only_what_changed_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    first, same_diagnosis, worse, well = watch_diagnoses(
        [make_healthy_diagnosis(), make_healthy_diagnosis(), make_diagnosis(FORWARDING_OFF), make_healthy_diagnosis()],
        capsys,
    )
    assert first.endswith("healthy\n")
    assert same_diagnosis == ""
    assert "new       root cause host-ip-forward-off on gpu1" in worse
    assert "ROOT CAUSE  host-ip-forward-off  on gpu1  (certain)" in worse
    assert "resolved  root cause host-ip-forward-off on gpu1" in well
    assert well.endswith("healthy\n")


def test_programs_get_whole_documents(capsys: pytest.CaptureFixture[str]) -> None:
    first, same_diagnosis, changed_diagnosis = watch_diagnoses(
        [make_healthy_diagnosis(), make_healthy_diagnosis(), make_ufw_diagnosis()], capsys, "json"
    )
    assert first.startswith("{")
    assert (same_diagnosis, changed_diagnosis.startswith("{")) == ("", True)


def test_the_command_watches_and_writes_metrics(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Asked twice, then Ctrl-C; the metrics are those of the last round."""
    diagnosises = iter([make_healthy_diagnosis(), make_diagnosis(FORWARDING_OFF)])
    monkeypatch.setattr(doctor, "make_reader", lambda *_, **__: lambda: next(diagnosises))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(doctor_watch.run_rounds, "__defaults__", (interrupt_after(2),))
    path = tmp_path / "gpustack.prom"
    result = run_doctor("--watch", "--every", "5s", "--metrics", str(path))
    assert result == 1
    assert 'fault="host-ip-forward-off"' in path.read_text()


def run_doctor(*words: str) -> int:
    return CliRunner().invoke(app, ["doctor", "--quiet", *words]).exit_code


def test_a_recording_is_not_watched() -> None:
    result = CliRunner().invoke(app, ["doctor", "--watch", "--from", "s.jsonl"])
    assert isinstance(result.exception, UsageError)
    assert result.exception.reference == "watch-of-recording"
