"""One operator at a time: flock on the first control plane, held by a process at the end of our own connection.

It ends with its connection, or after a minute without a heartbeat, so a stale lock cannot exist. A text file beside it
says who, since when, doing what. Every heartbeat is answered: so we know that we still hold it. When the connection
breaks it is taken again at once, and when that fails the rollout stops, for another may be let in.
"""

import getpass
import os
import queue
import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gpustack.ask.snapshot import Snapshot
from gpustack.ask.transport.execute import interact
from gpustack.ask.transport.refusal import HostRefused
from gpustack.config.host import Host
from gpustack.errors import LockedError, RolloutError
from gpustack.rollout.next import command

# Of root's alone: in /run/lock anybody could hold the lock for ever, or be named as its holder.
FOLDER = "/run/gpustack-cluster"
# Seconds: between heartbeats, for the first answer, without an answer before the lock is taken again, for that, and
# between attempts. The host holds the lock for a minute after the last one: when we give up, no other was let in yet;
# and whoever holds it for longer in our name is another, whose note is missing.
HEARTBEAT, ANSWER_LIMIT, SILENCE, RETAKE, AGAIN = 10.0, 30, 35.0, 15.0, 1.0
OURS = 60.0
HELD, TAKEN, BEAT, ENDED = "held", "taken", "beat", "the connection ended"
# One byte per heartbeat. The note is removed with the lock.
HOLD = """
if ! command -v flock >/dev/null 2>&1; then echo no-flock; exit 0; fi
install -d -m 0700 {folder} && exec 9>>{folder}/lock || exit
if ! flock -n 9; then echo {taken}; cat {folder}/holder 2>/dev/null; exit 0; fi
printf '%s\\n' {who} >{folder}/holder
echo {held}
while [ -n "$(timeout {ours:.0f} head -c 1)" ]; do echo {beat}; done
rm -f {folder}/holder
"""

Session = Callable[[Host, str, "queue.Queue[bytes | None]"], Iterator[str]]
"""Runs a script as root, writes what the queue brings to its stdin, closes it at None, yields its lines."""


def describe_holder(doing: str) -> str:
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{getpass.getuser()}@{socket.gethostname()} (pid {os.getpid()}) since {since}: gpustack {doing}"


def choose_lock_host(snapshot: Snapshot) -> Host:
    """The first control plane; where it is gone for good, the first host that is reached, so that it does not keep its
    workers. Raises RolloutError where none is reached."""
    for host in (*snapshot.inventory.control_planes[:1], *snapshot.inventory.hosts):
        if snapshot.reach[host.name].reached:
            return host
    why = "\n".join(f"{name}: {one.why}" for name, one in snapshot.reach.items())
    hint = command("doctor", snapshot.inventory)
    raise RolloutError("fix-no-host", "No host could be reached; nothing was changed.", why, hint)


@contextmanager
def lock(host: Host, doing: str, session: Session = interact) -> Iterator["Hold"]:
    """Raises LockedError, or HostRefused when the host cannot be asked."""
    hold = Hold(host, describe_holder(doing), session)
    first = hold.take()
    if isinstance(first, HostRefused):
        raise first
    if first == TAKEN:
        message = f"Another gpustack is changing this cluster (lock on {host.name})."
        hint = "wait for it, or end that process: the lock ends with it"
        raise LockedError("locked", message, hold.next_line(), hint)
    if first != HELD:
        message = f"The lock on {host.name} could not be taken."
        raise LockedError("lock-failed", message, first, "gpustack explain lock-failed")
    threading.Thread(target=hold.keep_alive, daemon=True).start()
    try:
        yield hold
    finally:
        hold.release()


@dataclass
class Hold:
    """A lock, held or not. `lost` says why it is no longer ours; empty while it is."""

    host: Host
    who: str
    session: Session
    lost: str = ""
    beats: "queue.Queue[bytes | None]" = field(default_factory=queue.Queue)
    lines: "queue.Queue[str | HostRefused]" = field(default_factory=queue.Queue)
    talk: threading.Thread | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def take(self) -> str | HostRefused:
        """Begins a conversation; its first line. Lines of an earlier one are dropped."""
        self.beats, self.lines = queue.Queue(), queue.Queue()
        script = HOLD.format(folder=FOLDER, who=shlex.quote(self.who), held=HELD, taken=TAKEN, beat=BEAT, ours=OURS)
        self.talk = threading.Thread(target=self.converse, args=(script, self.beats, self.lines), daemon=True)
        self.talk.start()
        first = self.next_or_none(ANSWER_LIMIT)
        return f"no answer within {ANSWER_LIMIT} s" if first is None else first

    def converse(
        self, script: str, beats: "queue.Queue[bytes | None]", lines: "queue.Queue[str | HostRefused]"
    ) -> None:
        try:
            for line in self.session(self.host, script, beats):
                lines.put(line.strip())
        except HostRefused as refused:
            lines.put(refused)
        lines.put(ENDED)

    def next_or_none(self, limit: float) -> str | HostRefused | None:
        try:
            return self.lines.get(timeout=limit)
        except queue.Empty:
            return None

    def next_line(self) -> str:
        return str(self.next_or_none(ANSWER_LIMIT) or "")

    def keep_alive(self) -> None:
        """Until it is let go or lost. The clock counts the time that this machine sleeps, as the host's does."""
        last = time.clock_gettime(time.CLOCK_BOOTTIME)
        while not self.done.is_set():
            line = self.next_or_none(HEARTBEAT)
            if line is None and time.clock_gettime(time.CLOCK_BOOTTIME) - last < SILENCE:
                self.beats.put(b".")
            elif line == BEAT or self.take_again():
                last = time.clock_gettime(time.CLOCK_BOOTTIME)
            else:
                return

    def take_again(self) -> bool:
        """False when it was let go meanwhile, or is lost. What the host still holds for us is waited for."""
        until, why = time.monotonic() + RETAKE, ""
        last = time.monotonic() + OURS + RETAKE
        while time.monotonic() < until and not self.done.wait(AGAIN):
            first = self.take()
            if first == HELD:
                return True
            why = first.reach.why if isinstance(first, HostRefused) else first
            if first == TAKEN:
                why = f"now it is held by {self.next_line()}"
                if not why.endswith(self.who):
                    break
                until = min(time.monotonic() + RETAKE, last)
        if not self.done.is_set():
            self.lost = f"the lock on {self.host.name} was lost: {why}"
        return False

    def release(self) -> None:
        self.done.set()
        self.beats.put(None)
        if self.talk is not None:
            self.talk.join(timeout=5)
