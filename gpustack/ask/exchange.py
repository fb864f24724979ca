"""Talks with a program at the other end of an SSH channel: writes and reads in turn, so that neither side fills its
window and waits for the other. Knows the channel by its methods only."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from queue import Empty, Queue
from typing import Any

More = Queue[bytes | None] | None
# Between two looks at a channel where nothing moves, in seconds. A conversation (the lock) lasts minutes.
LOOK, LOOK_SELDOM = 0.002, 0.05
WINDOW = 32768


@dataclass
class Exchange:
    """`unsent` goes first; then what `more` brings, until it brings None. `rc` is set at the end, -1 without one."""

    channel: Any
    unsent: bytes
    more: More = None
    errors: bytes = b""
    rest: bytes = b""
    rc: int = -1
    open_in: bool = True
    said: bool = False

    def lines(self, deadline: float) -> Iterator[str]:
        """Lines of the output as they come; at the deadline what has arrived counts."""
        while time.monotonic() < deadline:
            # Asked before we look for data: what comes after the end was announced cannot be missed, for nothing comes.
            ended = self.channel.eof_received or self.channel.closed
            wrote, heard = self.write(), self.hear()
            if self.channel.recv_ready():
                yield from self.read()
            elif ended and not heard:
                break
            elif not (wrote or heard):
                time.sleep(LOOK if self.more is None else LOOK_SELDOM)
        else:
            return
        if self.rest:
            yield self.rest.decode(errors="replace")
        self.rc = self.channel.recv_exit_status()

    def write(self) -> bool:
        if not self.unsent and self.open_in:
            piece = self.following()
            if piece is None:
                self.channel.shutdown_write()
                self.open_in = False
            self.unsent = piece or b""
        if not self.unsent or not self.channel.send_ready():
            return False
        self.unsent = self.unsent[self.channel.send(self.unsent[:WINDOW]) :]
        return True

    def following(self) -> bytes | None:
        """What to write next: nothing yet (empty), or the end (None)."""
        if self.more is None:
            return None
        try:
            return self.more.get_nowait()
        except Empty:
            return b""

    def hear(self) -> bool:
        if not self.channel.recv_stderr_ready():
            return False
        self.errors += self.channel.recv_stderr(65536)
        return True

    def read(self) -> Iterator[str]:
        *lines, self.rest = (self.rest + self.channel.recv(262144)).split(b"\n")
        self.said = self.said or bool(lines)
        yield from (line.decode(errors="replace") for line in lines)
