"""Splitting of a stream of bytes into lines. The size of one line is bounded, whatever a host sends."""

from dataclasses import dataclass, field

LONGEST = 64 * 1024 * 1024


@dataclass
class LineBuffer:
    """Hold the line that has not ended yet, in pieces: they are joined once, so that a long line takes linear time."""

    pieces: list[bytes] = field(default_factory=list)
    size: int = 0

    def push_data(self, data: bytes) -> list[bytes]:
        """Return the lines that end in `data`, without their newline."""
        first, *later_pieces = data.split(b"\n")
        self.keep(first)
        if not later_pieces:
            return []
        lines = [self.flush(), *later_pieces[:-1]]
        self.keep(later_pieces[-1])
        return lines

    def keep(self, piece: bytes) -> None:
        piece = piece[: LONGEST - self.size]
        self.size += len(piece)
        if piece:
            self.pieces.append(piece)

    def flush(self) -> bytes:
        """Return the incomplete line and begin a new one."""
        line = b"".join(self.pieces)
        self.pieces.clear()
        self.size = 0
        return line
