"""Cuts a stream of bytes into lines. What is kept of one line is bounded, whatever a host sends."""

from dataclasses import dataclass, field

LONGEST = 64 * 1024 * 1024


@dataclass
class LineBuffer:
    """The line that has not ended yet, in pieces: joining them once keeps a long line linear."""

    pieces: list[bytes] = field(default_factory=list)
    size: int = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that end in `data`, without their newline."""
        first, *others = data.split(b"\n")
        self.keep(first)
        if not others:
            return []
        lines = [self.flush(), *others[:-1]]
        self.keep(others[-1])
        return lines

    def keep(self, piece: bytes) -> None:
        piece = piece[: LONGEST - self.size]
        self.size += len(piece)
        if piece:
            self.pieces.append(piece)

    def flush(self) -> bytes:
        """What has come of the line; the next one begins."""
        line = b"".join(self.pieces)
        self.pieces.clear()
        self.size = 0
        return line
