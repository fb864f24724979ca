"""Talking over a channel: when a conversation is over, and when it only looks so."""

import queue
import time
from collections import deque

import pytest

from gpustack.ask.transport import channel
from gpustack.ask.transport.channel import ChannelIO
from tests.worlds.programs.clock import Clock


class Channel:
    """Stand for a paramiko channel: pieces of output arrive in turn, `None` is a moment in which nothing does."""

    closed: bool = False

    def __init__(self, *pieces: bytes | None, ends: bool) -> None:
        self.pieces, self.ends = deque(pieces), ends

    @property
    def eof_received(self) -> bool:
        return self.ends and not self.pieces

    def recv_ready(self) -> bool:
        if self.pieces and self.pieces[0] is None:
            self.pieces.popleft()
            return False
        return bool(self.pieces)

    def recv(self, _: int) -> bytes:
        return self.pieces.popleft() or b""

    def recv_stderr_ready(self) -> bool:
        return False

    def send_ready(self) -> bool:
        return True

    def send(self, data: bytes) -> int:
        return len(data)

    def shutdown_write(self) -> None:
        pass

    def exit_status_ready(self) -> bool:
        return True

    def recv_exit_status(self) -> int:
        return 0


def test_an_empty_line_ends_no_conversation() -> None:
    """The lock is one: it would be let go half a second after the first empty line."""
    quiet = [None] * 60
    talk = ChannelIO(Channel(b"\nheld\n", *quiet, b"beat\n", ends=True), b"script", queue.Queue())
    assert list(talk.stream_lines(20)) == ["", "held", "beat"]


def test_after_the_last_line_a_stray_child_keeps_nobody_waiting() -> None:
    start = time.monotonic()
    talk = ChannelIO(Channel(b"one\nthe end\n", ends=False), b"script", last=b"the end")
    assert list(talk.stream_lines(20)) == ["one", "the end"]
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    ("line", "limit", "came"),
    [
        pytest.param("M . 0", 100, 12, id="each answer starts the limit anew"),
        pytest.param("M . 0", 9, 5, id="up to a limit for all"),
        pytest.param("noise", 100, 3, id="noise is no answer"),
    ],
)
def test_a_slow_host_has_the_limit_for_each_answer(
    monkeypatch: pytest.MonkeyPatch, line: str, limit: float, came: int
) -> None:
    clock = Clock()
    monkeypatch.setattr(channel, "time", clock)
    two_seconds = [None] * round(2 / channel.MAX_POLL_INTERVAL)
    monkeypatch.setattr(channel, "POLL_INTERVAL", channel.MAX_POLL_INTERVAL)
    talk = ChannelIO(Channel(*[f"{line}\n".encode(), *two_seconds] * 12, ends=False), b"", last=b"M done")
    assert list(talk.stream_lines(5, limit)) == [line] * came
