"""While a host is starting, no root cause of it is certain and none has a fix. The recording is of a host whose kubelet
was restarted 5 s before."""

from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.ask.recording import read_recording
from gpustack.ask.snapshot import Snapshot
from gpustack.cli.doctor_wait import LIMIT, diagnose_when_started
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.starting import USUAL_SECONDS, Start, find_starts
from gpustack.events import Event
from gpustack.remedy.commands import add_commands
from tests.snapshots.fixture import FOLDER, restore_recording

FIXTURE = "op-kubelet-restart-lost-devices"
UNITS = ("units.services", "host2")
KUBELET_START = Start("host2", "kubelet", 5)


@pytest.fixture
def recording(tmp_path: Path) -> Snapshot:
    path = tmp_path / "recording"
    path.write_text(restore_recording(FOLDER / f"{FIXTURE}.jsonl"))
    return read_recording(path)


def edit_units(recording: Snapshot, old: str, new: str) -> Snapshot:
    answer = recording.answers[UNITS]
    assert old in answer.stdout
    answers = {**recording.answers, UNITS: replace(answer, stdout=answer.stdout.replace(old, new))}
    return replace(recording, answers=answers)


def read_clock(recording: Snapshot) -> int:
    return int(recording.answers[UNITS].stdout.partition("\n")[0].removeprefix("Now="))


def set_clock(recording: Snapshot, seconds_later: int) -> Snapshot:
    current_time = read_clock(recording)
    return edit_units(recording, f"Now={current_time}", f"Now={current_time + seconds_later}")


def test_what_fails_on_a_starting_host_is_likely_and_has_no_fix(recording: Snapshot) -> None:
    (root,) = add_commands(diagnose(recording)).roots
    assert (root.id, root.certainty, root.starts) == (FIXTURE, "likely", (KUBELET_START,))
    assert root.commands.hints == ("gpustack doctor --wait -i INVENTORY",)
    assert root.commands.manual[0] == "host2: kubelet was started 5 s ago"


def test_it_is_certain_once_the_host_had_its_time(recording: Snapshot) -> None:
    (root,) = add_commands(diagnose(set_clock(recording, USUAL_SECONDS))).roots
    assert (root.id, root.certainty, root.starts) == (FIXTURE, "certain", ())
    assert "gpustack doctor --fix op-kubelet-restart-lost-devices -i INVENTORY" in root.commands.hints


def test_a_kubelet_that_ends_again_and_again_is_not_starting(recording: Snapshot) -> None:
    assert find_starts(recording) == (KUBELET_START,)
    kubelet = "Id=kubelet.service\n"
    assert find_starts(edit_units(recording, kubelet, f"{kubelet}NRestarts=7\n")) == ()


def test_waiting_asks_again_when_the_host_had_its_time(recording: Snapshot) -> None:
    answers = iter([recording, set_clock(recording, USUAL_SECONDS)])
    pauses: list[float] = []
    events: list[Event] = []
    diagnosis = diagnose_when_started(lambda: diagnose(next(answers)), events.append, pauses.append)
    assert (diagnosis.starts, pauses) == ((), [USUAL_SECONDS - KUBELET_START.seconds_ago])
    assert [event.message for event in events] == ["kubelet was started 5 s ago; it is asked again in 85 s"]


def test_waiting_ends_at_its_limit(recording: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, LIMIT])
    monkeypatch.setattr("gpustack.cli.doctor_wait.time.monotonic", lambda: next(clock))
    pauses: list[float] = []
    diagnosis = diagnose(recording)
    assert diagnose_when_started(lambda: diagnosis, lambda event: None, pauses.append) is diagnosis
    assert len(pauses) == 1
