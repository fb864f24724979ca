"""Communication with a program at the other end of a channel, of Paramiko or of a local process.

It writes and reads in turn, so that neither side fills its window and waits for the other.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from queue import Empty, Queue
from typing import Any

from gpustack.ask.transport.line_buffer import LineBuffer

InputQueue = Queue[bytes | None] | None
# Seconds between two polls of an idle channel, the shortest and the longest. A wait is a quarter of the idle time. With
# thirty hosts at once, polls take more processor time than all other work.
POLL_INTERVAL, MAX_POLL_INTERVAL = 0.002, 0.05
WINDOW = 32768
# The limit of the error output, in bytes.
MAX_ERRORS = 1024 * 1024
# After the last line of the output the errors may still be on their way, and a stray child may hold the channel open.
END_GRACE_SECONDS = 0.5


@dataclass
class ChannelIO:
    """Write the input of a program and read its output.

    `unsent` is written first, then the items of `input_queue` until it yields None. `rc` is set at the end, and is -1
    without an exit status. `last` is the line that ends both outputs, if there is one; lines that begin with its first
    word mark answers.
    """

    channel: Any
    unsent: bytes
    input_queue: InputQueue = None
    last: bytes = b""
    errors: bytes = b""
    rc: int = -1
    open_in: bool = True
    buffer: LineBuffer = field(default_factory=LineBuffer)

    def stream_lines(self, limit: float, max_seconds: float = 0.0) -> Iterator[str]:
        """Yield lines of the output as they come, until the program ends or `limit` seconds have passed.

        Each answer extends the limit, up to `max_seconds` in all.
        """
        start_time = progress_time = time.monotonic()
        deadline = start_time + limit
        while (current_time := time.monotonic()) < deadline:
            # Read before the data: no data comes after the end, so none is missed.
            has_ended = self.channel.eof_received or self.channel.closed
            has_sent, has_errors = self.send(), self.read_stderr()
            if self.channel.recv_ready():
                progress_time = current_time
                for line in self.read_stdout():
                    yield line.decode(errors="replace")
                    deadline = self.move_deadline(line, deadline, min(current_time + limit, start_time + max_seconds))
            elif has_ended and not has_errors:
                break
            elif has_sent or has_errors:
                progress_time = current_time
            else:
                time.sleep(min(MAX_POLL_INTERVAL, max(POLL_INTERVAL, (current_time - progress_time) / 4)))
        else:
            return
        if rest := self.buffer.flush():
            yield rest.decode(errors="replace")
        # A program may close its output and continue to run.
        while not self.channel.exit_status_ready():
            if time.monotonic() > deadline:
                return
            time.sleep(POLL_INTERVAL)
        self.rc = self.channel.recv_exit_status()

    def move_deadline(self, line: bytes, deadline: float, after_answer: float) -> float:
        if self.last and line == self.last:
            return min(deadline, time.monotonic() + END_GRACE_SECONDS)
        mark = self.last.partition(b" ")[0]
        return max(deadline, after_answer) if mark and line.startswith(mark) else deadline

    def send(self) -> bool:
        if not self.unsent and self.open_in:
            piece = self.take_input()
            if piece is None:
                self.channel.shutdown_write()
                self.open_in = False
            self.unsent = piece or b""
        if not self.unsent or not self.channel.send_ready():
            return False
        self.unsent = self.unsent[self.channel.send(self.unsent[:WINDOW]) :]
        return True

    def take_input(self) -> bytes | None:
        """Return what to write next: empty for nothing yet, None for the end."""
        if self.input_queue is None:
            return None
        try:
            return self.input_queue.get_nowait()
        except Empty:
            return b""

    def read_stderr(self) -> bool:
        if not self.channel.recv_stderr_ready():
            return False
        self.errors += self.channel.recv_stderr(65536)[: MAX_ERRORS - len(self.errors)]
        return True

    def read_stdout(self) -> list[bytes]:
        return self.buffer.push_data(self.channel.recv(262144))
