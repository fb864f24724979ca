"""The lock of one host: flock on it, held by a process at the end of gpustack's own connection.

It ends with its connection, or after a minute without a heartbeat, so a stale lock cannot exist. A note beside it says
who holds it, since when, doing what, and the id of the run, which the first task of each play compares. Every heartbeat
is answered, so gpustack knows until when the host holds the lock. When the connection breaks, the lock is taken again.
"""

import getpass
import os
import queue
import secrets
import shlex
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gpustack.ask.transport.execute import interact
from gpustack.ask.transport.refusal import HostRefused
from gpustack.command import Prose
from gpustack.config.host import Host
from gpustack.errors import LockedError

# Of root's alone: in /run/lock anybody could hold the lock for ever, or be named as its holder.
FOLDER = "/run/gpustack-cluster"
# Seconds: between heartbeats, for the first answer, without an answer before the lock is taken again, for that, and
# between attempts. The host holds the lock for HOLD_LIMIT after the last heartbeat: when gpustack gives up, no other
# run was let in yet; and whoever holds it for longer under this name is another, whose note is missing.
HEARTBEAT, ANSWER_LIMIT, SILENCE, RETAKE, RETRY_PAUSE = 10.0, 30, 35.0, 15.0, 1.0
HOLD_LIMIT = 60.0
HELD_ANSWER, TAKEN_ANSWER, BEAT, CONNECTION_END = "held", "taken", "beat", "the connection ended"
# One byte per heartbeat. The note is renamed into place, so that it is never read in part, and removed with the lock.
# A play's first task looks at the lock for an instant: that is waited for. The shell that reads this would wait for
# more of it, with the lock, until the connection ends: so it exits.
HOLD = """
if ! command -v flock >/dev/null 2>&1; then echo no-flock; exit 0; fi
install -d -m 0700 {folder} && exec 9>>{folder}/lock || exit
if ! flock -w 1 9; then echo {taken}; head -n 1 {folder}/holder 2>/dev/null; exit 0; fi
if ! {{ printf '%s\\n' {who} {run} >{folder}/holder.new; }} 2>/dev/null ||
  ! mv -f {folder}/holder.new {folder}/holder 2>/dev/null; then
  rm -f {folder}/holder.new {folder}/holder
  echo "{folder}/holder could not be written: $(df -h {folder} | tail -n 1)"
  exit 0
fi
echo {held}
while [ -n "$(timeout {limit:.0f} head -c 1)" ]; do echo {beat}; done
rm -f {folder}/holder
exit 0
"""

Session = Callable[[Host, str, "queue.Queue[bytes | None]"], Iterator[str]]
"""A session runs a script as root, writes what the queue brings to its stdin, closes it at None, and yields its
lines."""


def describe_holder(doing: str) -> str:
    start = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{getpass.getuser()}@{socket.gethostname()} (pid {os.getpid()}) since {start}: gpustack {doing}"


def read_clock() -> float:
    """Return the seconds of a clock that also runs while this machine sleeps, as the hosts' clocks do."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@contextmanager
def lock(host: Host, doing: str, session: Session = interact) -> Iterator["Hold"]:
    """Hold the lock of one host. Raise LockedError, or HostRefused when the host cannot be asked."""
    hold = Hold(host, describe_holder(doing), session, secrets.token_hex(8))
    require_held(hold, hold.take())
    try:
        yield hold.keep()
    finally:
        hold.release()


def require_held(hold: "Hold", first: "str | HostRefused") -> None:
    """Raise LockedError or HostRefused unless the first line of the host's answer says that the lock is held."""
    if isinstance(first, HostRefused):
        raise first
    if first == TAKEN_ANSWER:
        message = f"Another gpustack is changing {hold.host.name}."
        hint = Prose(
            "wait for it, or end that process: the lock ends with it, a minute after its last heartbeat at most"
        )
        raise LockedError("locked", message, hold.read_line(), hint)
    if first != HELD_ANSWER:
        message = f"The lock on {hold.host.name} could not be taken."
        raise LockedError("lock-failed", message, first)


@dataclass(eq=False)
class Hold:
    """Keep the lock of a host, or try to. `loss_reason` says why it is lost; it is empty while the lock is held, and
    while it is taken again. A `patient` one is taken again for as long as the run lives, and lost only to another
    holder. `expiry` is the time until which the host keeps the lock, in seconds of `read_clock`."""

    host: Host
    holder: str
    session: Session
    run: str
    patient: bool = False
    loss_reason: str = ""
    expiry: float = 0.0
    beat_times: "deque[float]" = field(default_factory=deque)
    beats: "queue.Queue[bytes | None]" = field(default_factory=queue.Queue)
    lines: "queue.Queue[str | HostRefused]" = field(default_factory=queue.Queue)
    talk: threading.Thread | None = None
    stop_event: threading.Event = field(default_factory=threading.Event)

    def take(self) -> str | HostRefused:
        """Begin a session and return its first line. Lines of an earlier one are dropped."""
        asked_at = read_clock()
        self.beat_times.clear()
        self.beats.put(None)
        self.beats, self.lines = queue.Queue(), queue.Queue()
        words = {
            "folder": FOLDER,
            "held": HELD_ANSWER,
            "taken": TAKEN_ANSWER,
            "beat": BEAT,
            "limit": HOLD_LIMIT,
            "run": self.run,
        }
        script = HOLD.format(who=shlex.quote(self.holder), **words)
        self.talk = threading.Thread(target=self.run_session, args=(script, self.beats, self.lines), daemon=True)
        self.talk.start()
        limit = ANSWER_LIMIT * (self.host.timeout_factor if self.patient else 1)
        first = self.poll_line(limit)
        if first == HELD_ANSWER:
            self.expiry = max(self.expiry, asked_at + SILENCE + RETAKE)
        return f"no answer within {limit} s" if first is None else first

    def run_session(
        self, script: str, beats: "queue.Queue[bytes | None]", lines: "queue.Queue[str | HostRefused]"
    ) -> None:
        try:
            for line in self.session(self.host, script, beats):
                lines.put(line.strip())
        except HostRefused as refusal:
            lines.put(refusal)
        lines.put(CONNECTION_END)

    def poll_line(self, limit: float) -> str | HostRefused | None:
        try:
            return self.lines.get(timeout=limit)
        except queue.Empty:
            return None

    def read_line(self) -> str:
        return str(self.poll_line(ANSWER_LIMIT) or "")

    def take_and_keep(self) -> str | HostRefused:
        if (first := self.take()) == HELD_ANSWER:
            self.keep()
        return first

    def keep(self) -> "Hold":
        threading.Thread(target=self.keep_alive, daemon=True).start()
        return self

    def keep_alive(self) -> None:
        """Send heartbeats until the lock is released or lost."""
        last = read_clock()
        while not self.stop_event.is_set():
            line = self.poll_line(HEARTBEAT)
            if line is None and read_clock() - last < SILENCE:
                self.beat_times.append(read_clock())
                self.beats.put(b".")
            elif line == BEAT:
                last = self.beat_times.popleft() if self.beat_times else last
                self.expiry = max(self.expiry, last + SILENCE + RETAKE)
            elif self.take_again():
                last = read_clock()
            else:
                return

    def take_again(self) -> bool:
        """Take the lock again after the connection broke. Return False when it was released meanwhile, or is lost.
        While the host still holds it for the broken connection, wait."""
        has_lapsed, deadline, reason = read_clock() > self.expiry, read_clock() + RETAKE, ""
        last = read_clock() + HOLD_LIMIT + RETAKE
        while (early := read_clock() < deadline) or self.patient:
            if self.stop_event.wait(RETRY_PAUSE if early else HEARTBEAT):
                break
            asked_at, first = read_clock(), self.take()
            if first == HELD_ANSWER and (self.patient or not has_lapsed):
                return True
            reason = first.reach.reason if isinstance(first, HostRefused) else first
            if first == HELD_ANSWER:
                reason = "gpustack was stopped, and another run may have been let in meanwhile"
                break
            if first == TAKEN_ANSWER:
                reason = f"now it is held by {self.read_line()}"
                if not reason.endswith(self.holder) or asked_at > last:
                    break
                deadline = min(asked_at + RETAKE, last)
                self.expiry = self.expiry if has_lapsed else max(self.expiry, deadline)
        if not self.stop_event.is_set():
            self.loss_reason = f"the lock on {self.host.name} was lost: {reason}"
        return False

    def release(self) -> None:
        self.stop_event.set()
        self.beats.put(None)
        if self.talk is not None:
            self.talk.join(timeout=5)
