"""An install that failed says what it found on the hosts, and is otherwise as it would be without that."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpustack.ask import gather as gathering
from gpustack.ask.recording import read_recording
from gpustack.ask.snapshot import Snapshot
from gpustack.cli import failure_report, session
from gpustack.cli.app import app
from gpustack.cli.commands import install
from gpustack.cli.error_handler import report_errors
from gpustack.cli.option_groups import LockSession
from gpustack.command import NO_HINT, Command
from gpustack.errors import LockedError, VerifyError
from gpustack.rollout import evidence
from gpustack.rollout import run as locked_run
from gpustack.rollout.rollout import Rollout
from tests.worlds.results import plans
from tests.worlds.snapshots import hosts
from tests.worlds.snapshots.answers import read_case

FORWARDING_OFF = read_case("kernel.sysctls", "prepared-debian-12", ("net.ipv4.ip_forward 1", "net.ipv4.ip_forward 0"))


@pytest.fixture
def broken_snapshot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Snapshot:
    """Hosts that forward nothing; whoever asks gets these answers."""
    snapshot = hosts.build_snapshot({("kernel.sysctls", "h1"): FORWARDING_OFF})
    monkeypatch.setattr(session, "open_inventory", lambda *_, **__: snapshot.inventory)
    monkeypatch.setattr(gathering, "gather", lambda *_, **__: snapshot)
    monkeypatch.setattr(evidence, "locate_runs", lambda: tmp_path / "runs")
    return snapshot


def run_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, outcome: str, **changes: Any) -> Result:
    changed_outcome = replace(getattr(plans, f"make_{outcome}_outcome")(), **changes)

    @contextmanager
    def open_run(*_: Any) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(folder=tmp_path, keep_snapshot=lambda _: None)

    monkeypatch.setattr(LockSession, "open_run", open_run)
    monkeypatch.setattr(install, "roll_out", lambda *_, **__: changed_outcome)
    return CliRunner().invoke(app, ["install", "--yes", "-q"])


def test_the_snapshot_and_the_root_cause_stand_below(
    broken_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = run_install(monkeypatch, tmp_path, "failed")
    path = tmp_path / "failure.jsonl"
    assert result.exit_code == 5
    assert f"snapshot of the hosts: {path}\n" in result.stderr
    assert "  root cause host-ip-forward-off on h1 (certain): " in result.stderr
    assert f"more:  gpustack doctor --from {path} -v\n" in result.stderr
    assert path.stat().st_mode & 0o777 == 0o600
    assert dict(read_recording(path).answers) == dict(broken_snapshot.answers)


def test_programs_get_their_document_alone(
    broken_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = run_install(monkeypatch, tmp_path, "failed")
    assert "snapshot of the hosts" not in result.stdout


def test_good_and_interrupted_installs_leave_no_snapshot(
    broken_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert run_install(monkeypatch, tmp_path, "installed").exit_code == 0
    assert run_install(monkeypatch, tmp_path, "failed", stop_reason="interrupted").exit_code == 130
    assert not (tmp_path / "failure.jsonl").exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ValueError("odd"), KeyboardInterrupt()])
def test_what_goes_wrong_here_changes_no_exit_status(
    broken_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: BaseException
) -> None:
    from gpustack.ask import recording

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(recording, "write_recording", fail)
    result = run_install(monkeypatch, tmp_path, "failed")
    assert result.exit_code == 5
    assert "\nno snapshot of the hosts: " in result.stderr


def test_no_more_hosts_than_are_asked_at_once(
    broken_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So the limit of one host is the limit of all; the one that failed is among them."""
    questions: list[str] = []

    def gather(*_: Any, hosts: list[str], **__: Any) -> Snapshot:
        questions.extend(hosts)
        return broken_snapshot

    monkeypatch.setattr(gathering, "gather", gather)
    many = replace(
        broken_snapshot.inventory, hosts=(hosts.H1, *(replace(hosts.H2, name=f"w{index}") for index in range(90)))
    )
    failure_report.report_failure(many, tmp_path, print, failed_hosts=["w77"])
    assert (len(questions), questions[:2]) == (32, ["h1", "w77"])
    questions.clear()
    failure_report.report_failure(many, tmp_path, print, limit=["w3"])
    assert questions == ["h1", "w3"]


@pytest.fixture
def raising(broken_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], Result]:
    @contextmanager
    def hold_locks(*_: Any, **__: Any) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(loss_reason="")

    def install_raising(error: BaseException) -> Result:
        def run(*_: Any) -> None:
            raise error

        monkeypatch.setattr(locked_run, "hold_locks", hold_locks)
        monkeypatch.setattr(Rollout, "run", run)
        return CliRunner().invoke(app, ["install", "--yes", "-q"])

    return install_raising


def test_an_error_takes_the_diagnosis_along(raising: Callable[[BaseException], Result]) -> None:
    error = VerifyError("still-differs", "it broke", "why", Command("do"))
    result = raising(error)
    assert result.exception is error
    assert "root cause host-ip-forward-off" in "".join(error.__notes__)


def test_an_interrupt_takes_nothing_along(raising: Callable[[BaseException], Result], tmp_path: Path) -> None:
    raising(KeyboardInterrupt())
    assert list(tmp_path.rglob("failure.jsonl")) == []


def test_a_lock_that_is_not_got_is_no_failure_of_hosts(
    broken_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def take_lock(*_: Any, **__: Any) -> None:
        raise LockedError("locked", "somebody else", "", NO_HINT)

    monkeypatch.setattr(locked_run, "hold_locks", take_lock)
    result = CliRunner().invoke(app, ["install", "--yes", "-q"])
    assert isinstance(result.exception, LockedError)
    assert not hasattr(result.exception, "__notes__")


@pytest.mark.parametrize(("error", "code"), [(VerifyError("still-differs", "it broke"), 6), (ValueError("odd"), 70)])
def test_the_error_handler_prints_the_error_first_and_keeps_its_code(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    error.add_note("\nsnapshot of the hosts: x\n")
    with pytest.raises(SystemExit) as excinfo, report_errors():
        raise error
    output = capsys.readouterr().err
    assert excinfo.value.code == code
    assert output.index(str(error)) < output.index("snapshot of the hosts: x")
