"""One operator at a time: flock on the first control plane, held by a process at the end of our own connection.

It ends with its connection, or after a minute without a heartbeat, so a stale lock cannot exist. A text file beside it
says who, since when, doing what.
"""

import getpass
import os
import queue
import shlex
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from gpustack.ask.reach import HostRefused, converse
from gpustack.config.host import Host
from gpustack.errors import LockedError, UnreachableError

FILE = "/run/lock/gpustack.lock"
HEARTBEAT, ANSWER_LIMIT = 20.0, 30
# One byte per heartbeat. flock closes on exec, so only this process holds it; the note is removed with the lock.
HOLD = """
if ! command -v flock >/dev/null 2>&1; then echo no-flock; exit 0; fi
exec 9>>{file}
if ! flock -n 9; then echo taken; cat {file}.holder 2>/dev/null; exit 0; fi
printf '%s\\n' {who} >{file}.holder
echo held
while [ -n "$(timeout 60 head -c 1)" ]; do :; done
rm -f {file}.holder
"""

Session = Callable[[Host, str, "queue.Queue[bytes | None]"], Iterator[str]]
"""Runs a script as root, writes what the queue brings to its stdin, closes it at None, yields its lines."""


def holder(doing: str) -> str:
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{getpass.getuser()}@{socket.gethostname()} (pid {os.getpid()}) since {since}: gpustack {doing}"


@contextmanager
def lock(host: Host, doing: str, session: Session = converse) -> Iterator[None]:
    """Raises LockedError, or UnreachableError when the host cannot be asked."""
    beats: queue.Queue[bytes | None] = queue.Queue()
    said: queue.Queue[str | HostRefused] = queue.Queue()
    script = HOLD.format(file=FILE, who=shlex.quote(holder(doing)))
    talk = threading.Thread(target=converse_with, args=(session, host, script, beats, said), daemon=True)
    talk.start()
    first = heard(said)
    if isinstance(first, HostRefused):
        raise UnreachableError(
            first.reach.reference, f"{host.name}: {first.reach.why}", "", first.reach.hint
        ) from first
    if first == "taken":
        raise LockedError(
            "locked",
            f"Another gpustack is changing this cluster (lock on {host.name}).",
            str(heard(said)),
            "wait for it, or end that process: the lock ends with it",
        )
    if first != "held":
        raise LockedError(
            "lock-unknown", f"The lock on {host.name} could not be taken.", first, "gpustack explain lock-unknown"
        )
    done = threading.Event()

    def beat() -> None:
        while not done.wait(HEARTBEAT):
            beats.put(b".")

    threading.Thread(target=beat, daemon=True).start()
    try:
        yield
    finally:
        done.set()
        beats.put(None)
        talk.join(timeout=5)


def converse_with(
    session: Session,
    host: Host,
    script: str,
    beats: "queue.Queue[bytes | None]",
    said: "queue.Queue[str | HostRefused]",
) -> None:
    try:
        for line in session(host, script, beats):
            said.put(line.strip())
    except HostRefused as refused:
        said.put(refused)
    said.put("the connection ended")


def heard(said: "queue.Queue[str | HostRefused]") -> str | HostRefused:
    try:
        return said.get(timeout=ANSWER_LIMIT)
    except queue.Empty:
        return f"no answer within {ANSWER_LIMIT} s"
