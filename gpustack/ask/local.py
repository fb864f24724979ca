"""Runs a script on the local host: the same callable as over SSH."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator

from gpustack.ask.exchange import More
from gpustack.ask.reach import HostRefused, sudo_refusal
from gpustack.ask.snapshot import Reach
from gpustack.config.host import Host


def run(host: Host, command: str, stdin: bytes, limit: float, more: More = None) -> Iterator[str]:
    """Lines as they come; at the limit what has arrived counts. Raises HostRefused."""
    process = subprocess.Popen(
        ["sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    errors: list[bytes] = []
    reader = threading.Thread(
        target=lambda: errors.append(process.stderr.read() if process.stderr else b""), daemon=True
    )
    reader.start()
    clock = threading.Timer(min(limit, threading.TIMEOUT_MAX), end, args=(process,))
    clock.daemon = True
    clock.start()
    try:
        feeder = threading.Thread(target=feed, args=(process, stdin, more), daemon=True)
        feeder.start()
        any_line = False
        for raw in process.stdout:
            any_line = True
            yield raw.decode(errors="replace")
        rc = process.wait()
        reader.join(timeout=1)
        text = b"".join(errors).decode(errors="replace")
        if refusal := sudo_refusal(host, text, rc):
            raise refusal
        if not any_line and rc != 0:
            raise HostRefused(Reach(host.name, "host-no-shell", f"the shell ended with {rc}: {text.strip()[:200]}", ""))
    finally:
        clock.cancel()
        end(process)
        process.wait()
        for pipe in (process.stdout, process.stderr):
            pipe.close()


def end(process: "subprocess.Popen[bytes]") -> None:
    """The shell and all that it started: a child that lives on would hold the pipes open. What sudo started cannot be
    signalled by others; it ends with its stdin."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def feed(process: "subprocess.Popen[bytes]", data: bytes, more: More) -> None:
    assert process.stdin
    piece: bytes | None = data
    try:
        while piece is not None:
            process.stdin.write(piece)
            process.stdin.flush()
            piece = more.get() if more else None
        process.stdin.close()
    except BrokenPipeError:
        pass  # the shell ended first; its exit status says why
