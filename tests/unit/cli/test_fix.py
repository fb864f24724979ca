"""`doctor --fix` and `--undo` as commands: what is refused, what is asked, what is held, what a program reads."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpustack.ask import gather as gathering
from gpustack.ask.probe import Answer, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.cli import session
from gpustack.cli.app import app
from gpustack.command import Command
from gpustack.errors import GpustackError, LockedError
from gpustack.remedy import copies as keeping
from gpustack.remedy import fix as module
from gpustack.remedy.records import HostRecord
from gpustack.remedy.scope import SYSCTL_FILE
from gpustack.report.fix.json import FixDocument, UndoDocument
from gpustack.rollout import evidence, playbook, preview
from gpustack.rollout import run as locked_run
from gpustack.rollout.lease import Places
from gpustack.rollout.plan import PlaybookRun
from tests.schemas import check_shape
from tests.worlds.programs.fix_run import FORWARD, STOPPED_SERVICE, make_record
from tests.worlds.snapshots import hosts

IP, CONTAINERD = "host-ip-forward-off", "containerd-not-running"


class World:
    """Hosts whose faults a play takes away; what was locked, played and copied is kept in order."""

    def __init__(self, faults: dict[tuple[str, str], Answer]) -> None:
        self.faults, self.log, self.stubborn, self.absent_hosts = dict(faults), list[str](), False, set[str]()

    def gather(self, inventory: Any, probes: Sequence[Probe[Any]], **_: Any) -> Snapshot:
        snapshot, ids = hosts.build_snapshot(self.faults), {probe.id for probe in probes}
        return Snapshot(
            snapshot.started_at,
            snapshot.inventory,
            snapshot.reach,
            {key: a for key, a in snapshot.answers.items() if key[0] in ids},
        )

    def play(self, name: str, names: Sequence[str], *_: Any, **__: Any) -> PlaybookRun:
        assert self.log.count("held") > self.log.count("released"), "the lock is held while it plays"
        self.log.append(f"play {name}")
        self.faults = self.faults if self.stubborn else {}
        return PlaybookRun(name, tuple(names), tuple(names), (), (), 1.0, Command("ansible-playbook", f"{name}.yml"))

    def list_differences(self, name: str, *_: Any) -> list[str]:
        return [f"{name} on h1: Ensure it", "-net.ipv4.ip_forward = 0", "+net.ipv4.ip_forward = 1"]

    @contextmanager
    def lock(self, places: Places, doing: str, **_: Any) -> Iterator[SimpleNamespace]:
        self.log += [f"{places.first_hosts[0].name} {doing}", "held"]
        yield SimpleNamespace(loss_reason="", run="", expiry=inf, require=self.require)
        self.log.append("released")

    def require(self, names: Sequence[str]) -> None:
        if absent_hosts := self.absent_hosts & {*names}:
            raise LockedError("lock-failed", f"{absent_hosts} is not held")

    def begin(self, _: Any, id: str, fault: str, *__: Any) -> None:
        self.log.append(f"copy {fault}")

    def finish(self, _: Any, id: str, names: Sequence[str]) -> tuple[HostRecord, ...]:
        return tuple(make_record(name, id, SYSCTL_FILE) for name in names)

    def read(self, _: Any, name: str, id: str = "20261122T063000.0Z") -> HostRecord | None:
        return replace(make_record(name, id, SYSCTL_FILE), fault=IP) if name == "h1" else None

    def restore(self, *_: Any) -> list[str]:
        self.log.append("undo")
        return [f"did\trestored {SYSCTL_FILE}"]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., World]:
    def build_world(*faults: dict[tuple[str, str], Answer]) -> World:
        fake_world = World({key: answer for fault in faults for key, answer in fault.items()})
        monkeypatch.setattr(session, "open_inventory", lambda *_, **__: hosts.build_snapshot().inventory)
        monkeypatch.setattr(gathering, "gather", fake_world.gather)
        monkeypatch.setattr(playbook, "play", fake_world.play)
        monkeypatch.setattr(preview, "list_differences", fake_world.list_differences)
        monkeypatch.setattr(locked_run, "hold_locks", fake_world.lock)
        number = count()
        monkeypatch.setattr(evidence, "locate_runs", lambda: tmp_path / f"runs-{next(number)}")
        for name in ("begin", "finish", "read", "restore"):
            monkeypatch.setattr(
                keeping.Copies, name, lambda *words, name=name, **options: getattr(fake_world, name)(*words, **options)
            )
        monkeypatch.setattr(keeping.Copies, "read_objects", lambda *_: ())
        monkeypatch.setattr(keeping.Copies, "forget", lambda *_: fake_world.log.append("forget"))
        for name in ("PAUSE", "RESOLVE_LIMIT", "SYMPTOM_LIMIT"):
            monkeypatch.setattr(module, name, 0.0)
        return fake_world

    return build_world


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["doctor", "-q", *words])


def expect_error(*words: str) -> GpustackError:
    error = run(*words).exception
    assert isinstance(error, GpustackError), error
    return error


@pytest.mark.parametrize(
    ("words", "reference"),
    [
        (("--fix", "--from", "x.jsonl"), "fix-of-recording"),
        (("--undo", "--from", "x.jsonl"), "fix-of-recording"),
        (("--fix", "--undo"), "invalid-options"),
        ((IP,), "invalid-options"),
        (("--yes-to", IP), "invalid-options"),
        (("--fix", "-o", "junit"), "invalid-options"),
        (("--yes",), "invalid-options"),
        (("--fix", "host-ip-forwrd-off"), "fix-unknown"),
        (("--fix", "--yes-to", "nothing"), "fix-unknown"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    world: Callable[..., World], words: tuple[str, ...], reference: str
) -> None:
    fake_world = world(FORWARD)
    error = expect_error(*words)
    assert (error.reference, error.code, fake_world.log) == (reference, 2, [])


def test_what_is_no_root_here_is_refused(world: Callable[..., World]) -> None:
    fake_world = world(FORWARD)
    error = expect_error("--fix", "host-swap-on", "--yes")
    assert (error.reference, error.code, fake_world.log) == ("fix-not-a-root", 5, [])
    assert "h1: " in error.reason


def test_without_a_terminal_it_is_shown_and_nothing_is_changed(world: Callable[..., World]) -> None:
    fake_world = world(FORWARD)
    result = run("--fix")
    assert isinstance(result.exception, GpustackError)
    assert (result.exception.reference, result.exception.code) == ("fix-declined", 5)
    assert "FIX  host-ip-forward-off  on h1" in result.stdout
    assert "+net.ipv4.ip_forward = 1" in result.stdout
    assert fake_world.log == ["h1 doctor", "held", "released"]


def test_yes_is_not_for_what_has_to_be_asked(world: Callable[..., World]) -> None:
    fake_world = world({("units.services", "h1"): STOPPED_SERVICE})
    error = expect_error("--fix", "--yes")
    assert (error.reference, error.hint) == (
        "fix-declined",
        f"gpustack doctor --fix --yes-to {CONTAINERD} -i hosts.yml",
    )
    assert "play remedy/unit" not in fake_world.log
    assert run("--fix", "--yes-to", CONTAINERD).exit_code != 5
    assert "play remedy/unit" in fake_world.log


@pytest.mark.parametrize(("text", "plays"), [("y\n", 1), ("n\n", 0), ("", 0)])
def test_on_a_terminal_a_yes_is_asked_for(
    world: Callable[..., World], monkeypatch: pytest.MonkeyPatch, text: str, plays: int
) -> None:
    class Terminal:
        isatty = staticmethod(lambda: True)
        readline = staticmethod(lambda: text)

    monkeypatch.setattr(sys, "stdin", Terminal())
    fake_world = world(FORWARD)
    with pytest.raises((SystemExit, GpustackError)):
        app(["doctor", "-q", "--fix"])
    assert fake_world.log.count("play remedy/sysctl") == plays


def test_it_is_done_under_the_lock_and_written_down(world: Callable[..., World], tmp_path: Path) -> None:
    fake_world = world(FORWARD)
    result = run("--fix", "--yes")
    assert fake_world.log == ["h1 doctor", "held", f"copy {IP}", "play remedy/sysctl", "released"]
    assert "host-ip-forward-off on h1: fixed" in result.stdout
    assert "to undo: gpustack doctor --undo -i hosts.yml" in result.stdout
    (folder,) = (tmp_path / "runs-0").iterdir()
    assert {"overlay.yml", "snapshot.jsonl", "fix.json", "events.jsonl"} <= {path.name for path in folder.iterdir()}


def test_what_does_not_turn_is_6_and_undone(world: Callable[..., World]) -> None:
    fake_world = world(FORWARD)
    fake_world.stubborn = True
    result = run("--fix", "--yes")
    assert (result.exit_code, fake_world.log[-3:]) == (6, ["undo", "forget", "released"])
    assert "changes rolled back" in result.stdout


@pytest.mark.parametrize(("second", "undone"), [("y\n", 1), ("n\n", 0)])
def test_a_roll_back_has_a_question_of_its_own(
    world: Callable[..., World], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
    second: str, undone: int,
) -> None:  # fmt: skip
    """A yes to a fix is no yes to what follows when it does not help."""
    answers = iter(["y\n", second])
    terminal = SimpleNamespace(isatty=lambda: True, readline=lambda: next(answers))
    monkeypatch.setattr(sys, "stdin", terminal)
    fake_world = world(FORWARD)
    fake_world.stubborn = True
    with pytest.raises(SystemExit) as excinfo:
        app(["doctor", "-q", "--fix"])
    output = capfd.readouterr()
    assert (excinfo.value.code, fake_world.log.count("undo")) == (6, undone)
    assert f"{IP} was not resolved. Roll these changes back?" in output.err
    assert "LAST FIX" in output.out
    assert ("not rolled back" in output.out, "to undo: gpustack doctor --undo" in output.out) == (
        not undone,
        not undone,
    )


def test_a_program_gets_one_document(world: Callable[..., World]) -> None:
    world(FORWARD)
    result = run("--fix", "--yes", "-o", "json")
    check_shape(FixDocument, result.stdout)
    document = json.loads(result.stdout)
    assert (document["schema"], document["initial_root_ids"], document["exit"]["code"]) == (
        "gpustack/fix/v1",
        [IP],
        result.exit_code,
    )
    (attempt,) = document["attempts"]
    assert (attempt["outcome"], attempt["play"]) == ("fixed", "remedy/sysctl")
    changes = {"host": "h1", "files": [SYSCTL_FILE], "systemd_units": [], "kernel_parameters": []}
    assert attempt["changes"] == [changes]


def test_the_last_fix_is_taken_back(world: Callable[..., World]) -> None:
    fake_world = world(FORWARD)
    result = run("--undo", "--yes", "-o", "json")
    assert result.exit_code == 0, result.exception
    check_shape(UndoDocument, result.stdout)
    assert json.loads(result.stdout)["actions"] == [f"h1: restored {SYSCTL_FILE}"]
    assert fake_world.log == ["h1 doctor", "held", "undo", "forget", "released"]
    error = expect_error("--undo")
    assert (error.reference, fake_world.log.count("undo")) == ("undo-declined", 1)


@pytest.mark.parametrize("words", [("--fix", "--yes"), ("--undo", "--yes")], ids=["fix", "undo"])
def test_a_host_whose_lock_is_not_held_is_not_changed(words: tuple[str, ...], world: Callable[..., World]) -> None:
    """Leave a host alone when its lock is lost, as one that could not be locked: another run may change it."""
    fake_world = world(FORWARD)
    fake_world.absent_hosts.add("h1")
    assert expect_error(*words).reference == "lock-failed"
    assert fake_world.log == ["h1 doctor", "held"]
