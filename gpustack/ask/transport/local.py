"""Commands on the local host, with the interface of an SSH channel."""

import contextlib
import os
import select
import signal
import subprocess
from typing import IO


class LocalChannel:
    """Offer the methods of a Paramiko channel that ask/transport/channel.py calls, for a process in a session of its
    own."""

    closed = False

    def __init__(self, command: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            ["sh", "-c", command], stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
        )
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.stdin, self.stdout, self.stderr = self.process.stdin, self.process.stdout, self.process.stderr
        os.set_blocking(self.stdin.fileno(), False)

    @property
    def eof_received(self) -> bool:
        """The output has ended and the process too. A child left behind may hold the error output open: it is not
        waited for."""
        return self.stdout.closed and self.exit_status_ready()

    def recv_ready(self) -> bool:
        return is_ready(self.stdout, select.POLLIN)

    def recv(self, size: int) -> bytes:
        return read_or_close(self.stdout, size)

    def recv_stderr_ready(self) -> bool:
        return is_ready(self.stderr, select.POLLIN)

    def recv_stderr(self, size: int) -> bytes:
        return read_or_close(self.stderr, size)

    def send_ready(self) -> bool:
        return is_ready(self.stdin, select.POLLOUT)

    def send(self, data: bytes) -> int:
        try:
            return os.write(self.stdin.fileno(), data)
        except BrokenPipeError:
            return len(data)  # the shell ended first; its exit status says why

    def shutdown_write(self) -> None:
        self.stdin.close()

    def exit_status_ready(self) -> bool:
        return self.process.poll() is not None

    def recv_exit_status(self) -> int:
        """Return the exit status as shells count it: 128 and the number of the signal."""
        rc = self.process.wait()
        return rc if rc >= 0 else 128 - rc

    def close(self) -> None:
        """End the shell and its process group. Processes of sudo cannot be signalled by other users; they end with
        their pipes."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for stream in (self.stdin, self.stdout, self.stderr):
            stream.close()
        self.process.wait()


def is_ready(stream: IO[bytes], event: int) -> bool:
    """Tell whether a stream is ready, also at its end. poll(2) takes any descriptor, select(2) those below 1024."""
    if stream.closed:
        return False
    poll = select.poll()
    poll.register(stream, event)
    return bool(poll.poll(0))


def read_or_close(stream: IO[bytes], size: int) -> bytes:
    data = os.read(stream.fileno(), size)
    if not data:
        stream.close()
    return data
