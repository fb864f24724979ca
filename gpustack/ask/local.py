"""Runs a script on the local host: the same callable as over SSH."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator

from gpustack.ask.exchange import AFTER_LAST, KEPT_ERRORS, More
from gpustack.ask.lines import Lines
from gpustack.ask.refusal import HostRefused, parse_sudo_refusal
from gpustack.ask.snapshot import Reach
from gpustack.config.host import Host


def run(
    host: Host, command: str, stdin: bytes, limit: float, more: More = None, first: str = "", last: str = ""
) -> Iterator[str]:
    """Lines of the output behind `first` as they come, then those of the error output; at the limit, or after the line
    `last`, what has arrived counts. Raises HostRefused."""
    process = subprocess.Popen(
        ["sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # closing a buffered pipe waits for the thread that reads it, and that one for a stray child
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    errors = bytearray()
    reader = threading.Thread(target=collect, args=(process, errors), daemon=True)
    reader.start()
    clock = threading.Timer(min(limit, threading.TIMEOUT_MAX), end, args=(process,))
    clock.daemon = True
    clock.start()
    try:
        feeder = threading.Thread(target=feed, args=(process, stdin, more), daemon=True)
        feeder.start()
        began = not first
        for raw in spoken(process, last.encode()):
            if began:
                yield raw.decode(errors="replace")
            began = began or raw == first.encode()
        rc = process.wait()
        reader.join(timeout=AFTER_LAST)
        text = errors.decode(errors="replace")
        if not began and (refusal := parse_sudo_refusal(host, text, rc)):
            raise refusal
        if not began and rc != 0:
            raise HostRefused(Reach(host.name, "host-no-shell", f"the shell ended with {rc}: {text.strip()[:200]}", ""))
        yield from text.removesuffix("\n").split("\n") if text else ()
    finally:
        clock.cancel()
        end(process)
        process.wait()
        process.stdout.close()


def spoken(process: "subprocess.Popen[bytes]", last: bytes) -> Iterator[bytes]:
    """Lines of the output, up to its end or the last one: a stray child may hold the pipe open."""
    assert process.stdout
    rest = Lines()
    while data := process.stdout.read(262144):
        for line in rest.feed(data):
            yield line
            if last and line == last:
                return
    if line := rest.ended():
        yield line


def collect(process: "subprocess.Popen[bytes]", errors: bytearray) -> None:
    """All of the error output is read, so that nobody waits; the beginning is kept. The pipe is closed here, by the one
    who reads it: a stray child may hold its other end for long."""
    assert process.stderr
    with process.stderr:
        while data := process.stderr.read(65536):
            errors += data[: KEPT_ERRORS - len(errors)]


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
            while piece:
                piece = piece[process.stdin.write(piece) :]
            piece = more.get() if more else None
        process.stdin.close()
    except BrokenPipeError:
        pass  # the shell ended first; its exit status says why
