"""The lock as its holder sees it: taken, refused, kept by answered heartbeats, taken again, lost."""

import os
import queue
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpustack.ask.snapshot import Reach
from gpustack.ask.transport.refusal import HostRefused
from gpustack.command import Command
from gpustack.config.host import CONTROL_PLANE, Host
from gpustack.errors import LockedError, UnreachableError
from gpustack.rollout import lock as module
from gpustack.rollout.lock import lock

HOST = Host("plane", "10.0.0.1", groups=frozenset({CONTROL_PLANE}))
REFUSED_LOGIN = HostRefused(Reach("plane", "host-ssh-unreachable", "nobody answers", Command("ssh", "plane")))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {
        "HEARTBEAT": 0.01,
        "SILENCE": 0.2,
        "RETAKE": 0.3,
        "RETRY_PAUSE": 0.01,
        "ANSWER_LIMIT": 1,
    }.items():
        monkeypatch.setattr(module, name, seconds)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengthen the limits where a lock must not be lost: a virtual machine stands still for half a second at times."""
    monkeypatch.setattr(module, "SILENCE", 2.0)
    monkeypatch.setattr(module, "RETAKE", 2.0)


class Plane:
    """Conversations in their order; the last one is repeated. `begin_count` counts them."""

    def __init__(self, *conversations: Callable[["queue.Queue[bytes | None]"], Iterator[str]]) -> None:
        self.conversations, self.begin_count = conversations, 0

    def __call__(self, host: Host, script: str, beats: "queue.Queue[bytes | None]") -> Iterator[str]:
        self.begin_count += 1
        return self.conversations[min(self.begin_count, len(self.conversations)) - 1](beats)


def answer_beats(beats: "queue.Queue[bytes | None]") -> Iterator[str]:
    yield "held"
    while beats.get() is not None:
        yield "beat"


def break_off(beats: "queue.Queue[bytes | None]") -> Iterator[str]:
    yield "held"
    beats.get()


def answer_nothing(beats: "queue.Queue[bytes | None]") -> Iterator[str]:
    """Answer nothing: the other end is gone, and nobody says so."""
    yield "held"
    while beats.get() is not None:
        pass


def refuse_session(beats: "queue.Queue[bytes | None]") -> Iterator[str]:
    yield from ()
    raise REFUSED_LOGIN


def answer_taken(holder: str) -> Callable[["queue.Queue[bytes | None]"], Iterator[str]]:
    return lambda beats: iter(("taken", holder))


def wait_until(ask: Callable[[], object]) -> bool:
    end = time.monotonic() + 5
    while not ask() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(ask())


@pytest.mark.long
@pytest.mark.usefixtures("patient")
def test_it_is_kept_as_long_as_heartbeats_are_answered() -> None:
    plane = Plane(answer_beats)
    with lock(HOST, "install", plane) as held_lock:
        time.sleep(4.5)
        assert held_lock.loss_reason == ""
    assert plane.begin_count == 1
    assert held_lock.talk is not None
    assert not held_lock.talk.is_alive()


def test_another_holder_is_named() -> None:
    with (
        pytest.raises(LockedError, match="Another") as excinfo,
        lock(HOST, "install", Plane(answer_taken("ann@desk (pid 7)"))),
    ):
        pass
    assert excinfo.value.reason == "ann@desk (pid 7)"


def test_a_host_that_cannot_be_asked_is_named() -> None:
    with pytest.raises(UnreachableError) as excinfo, lock(HOST, "install", Plane(refuse_session)):
        pass
    assert excinfo.value.reference == "host-ssh-unreachable"


def test_an_answer_of_another_kind_is_no_lock() -> None:
    with pytest.raises(LockedError) as excinfo, lock(HOST, "install", Plane(lambda beats: iter(("no-flock",)))):
        pass
    assert (excinfo.value.reference, excinfo.value.reason) == ("lock-failed", "no-flock")


@pytest.mark.long
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("first", [break_off, answer_nothing])
def test_a_connection_that_broke_is_made_again(first: Callable[..., Iterator[str]]) -> None:
    plane = Plane(first, refuse_session, answer_beats)
    with lock(HOST, "install", plane) as held_lock:
        assert wait_until(lambda: plane.begin_count == 3)
        time.sleep(0.3)
        assert held_lock.loss_reason == ""
        assert plane.begin_count == 3


def test_time_that_this_machine_slept_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host frees the lock after a minute of its own."""
    monkeypatch.setattr(module, "SILENCE", 1000)
    sleeps, clock = [0], time.clock_gettime
    monkeypatch.setattr(time, "clock_gettime", lambda kind: clock(kind) + sleeps[0] * (kind == time.CLOCK_BOOTTIME))
    plane = Plane(answer_nothing, answer_beats)
    with lock(HOST, "install", plane):
        time.sleep(0.1)
        assert plane.begin_count == 1
        sleeps[0] = 2000
        assert wait_until(lambda: plane.begin_count == 2)


def test_it_is_lost_to_another_who_came_meanwhile() -> None:
    with lock(HOST, "install", Plane(break_off, answer_taken("ann@desk (pid 7)"))) as held_lock:
        assert wait_until(lambda: held_lock.loss_reason)
    assert held_lock.loss_reason == "the lock on plane was lost: now it is held by ann@desk (pid 7)"


@pytest.mark.long
@pytest.mark.usefixtures("patient")
def test_what_the_host_still_holds_for_us_is_waited_for() -> None:
    """The host takes up to a minute to notice its end of a broken connection."""
    holder = module.describe_holder("install")
    own_answers = [answer_taken(holder)] * 20
    plane = Plane(break_off, *own_answers, answer_beats)
    with lock(HOST, "install", plane) as held_lock:
        assert wait_until(lambda: plane.begin_count == 22)
        assert held_lock.loss_reason == ""


def test_nobody_holds_it_for_us_for_longer_than_the_host_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is another's, whose note is missing."""
    monkeypatch.setattr(module, "HOLD_LIMIT", 0.1)
    holder = module.describe_holder("install")
    with lock(HOST, "install", Plane(break_off, *[answer_taken(holder)] * 1000)) as held_lock:
        assert wait_until(lambda: held_lock.loss_reason)
    assert held_lock.loss_reason == f"the lock on plane was lost: now it is held by {holder}"


def test_it_is_lost_when_the_host_stays_away() -> None:
    with lock(HOST, "install", Plane(break_off, refuse_session)) as held_lock:
        assert wait_until(lambda: held_lock.loss_reason)
    assert held_lock.loss_reason == "the lock on plane was lost: nobody answers"


def record_script(monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    """Record what is sent to the host, with the lock in this folder."""
    monkeypatch.setattr(module, "FOLDER", str(folder))
    sent_texts: list[str] = []

    def open_session(host: Host, script: str, beats: "queue.Queue[bytes | None]") -> Iterator[str]:
        sent_texts.append(script)
        return answer_beats(beats)

    with lock(HOST, "install", open_session):
        return sent_texts[0]


def test_the_lock_is_where_nobody_but_root_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """/run/lock is for everybody: whoever can open a file there can hold its flock for ever, or make the file first."""
    assert Path(module.FOLDER).parent == Path("/run")
    folder = tmp_path / "gpustack-cluster"
    script = record_script(monkeypatch, folder)
    assert "/run/lock" not in script
    first = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with first:
        assert first.stdin
        assert first.stdout
        assert first.stdout.readline() == "held\n"
        assert (folder.stat().st_mode & 0o777, folder.stat().st_uid) == (0o700, os.getuid())
        second = subprocess.run(["sh", "-c", script], input="", capture_output=True, text=True, check=True, timeout=30)
        # The holder has the minute in which it took the lock.
        minute = r"since \d{4}-\d\d-\d\d \d\d:\d\d UTC"
        state, holder = second.stdout.splitlines()
        assert state == "taken"
        assert re.sub(minute, "", holder) == re.sub(minute, "", module.describe_holder("install"))
        first.stdin.close()
    assert [path.name for path in folder.iterdir()] == ["lock"]


def test_a_folder_that_others_may_enter_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gpustack-cluster"
    folder.mkdir()
    folder.chmod(0o777)
    process = subprocess.run(
        ["sh", "-c", record_script(monkeypatch, folder)],
        input="",
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert (process.stdout, folder.stat().st_mode & 0o777) == ("held\n", 0o700)
