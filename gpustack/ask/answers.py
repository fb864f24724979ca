"""Reads the output of ask/script.py back into Answers.

A line of the random marker opens and closes what a probe printed; the newline before it is ours:

    MARKER system.os 12.34          MARKER @api 12.60 kube.readyz kube.nodes
    …its output…                    …body of the first read…
    MARKER . 0 12.36                MARKER = 0 200 0.004
                                    …
                                    MARKER . 0 12.70

Error output comes on its own stream, after the output, below lines of `MARKER !system.os`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpustack.ask.api import refusal
from gpustack.ask.probe import CLUSTER, Answer, Api, Probe
from gpustack.ask.prune import prune

# Characters of a shell probe and of an API read, whose answer is pruned once it is here: a node object is 10 to 25 KB.
KEPT, KEPT_API, KEPT_ERR = 256 * 1024, 64 * 1024 * 1024, 8 * 1024
API = "@api"
BROKEN_OFF = "the answer was broken off"


@dataclass
class Piece:
    """What was printed between two lines of ours, up to `most` characters."""

    id: str
    most: int
    start: str = "0"
    asked: Sequence[str] = ()
    lines: list[str] = field(default_factory=list)
    size: int = -1
    cut: bool = False

    def add(self, line: str) -> None:
        left = self.most - self.size - 1
        self.size += len(line) + 1
        if not self.cut:
            self.lines.append(line[: max(left, 0)])
            self.cut = len(line) > left

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass
class Reading:
    """Answers as their last line comes; the error output is put beside them at the end."""

    marker: str
    host: str
    known: Mapping[str, Probe[Any]]
    answers: dict[str, Answer] = field(default_factory=dict)
    errors: dict[str, Piece] = field(default_factory=dict)
    open: Piece | None = None

    def hear(self, line: str) -> None:
        if not line.startswith(self.marker + " "):
            if self.open:
                self.open.add(line)
            return
        words = line.split(" ")[1:]
        try:
            self.mark(words)
        except (ValueError, IndexError, KeyError):
            self.broken_off()

    def mark(self, words: Sequence[str]) -> None:
        """Raises ValueError, IndexError or KeyError for a line that is not as ours are."""
        first = words[0]
        if first == "." and self.open:
            self.close(self.open, int(words[1]), float(words[2]))
        elif first == "=" and self.open and self.open.id == API:
            self.read(self.open, int(words[1]), words[2], float(words[3]), " ".join(words[4:]))
        elif first.startswith("!"):
            self.broken_off()
            self.open = self.errors[first[1:]] = Piece(first[1:], KEPT_ERR)
        elif first == API:
            self.open = Piece(API, KEPT_API, words[1], words[2:])
        elif first in self.known:
            self.broken_off()
            self.open = Piece(first, KEPT, words[1])
        else:
            self.broken_off()

    def broken_off(self) -> None:
        """Of a probe whose output never ended nothing is known."""
        if self.open and self.open.id in self.known and self.open.id not in self.errors:
            self.keep(self.open.id, -1, "", lost=BROKEN_OFF)
        self.open = None

    def close(self, piece: Piece, rc: int, end: float) -> None:
        self.open = None
        if piece.id != API:
            self.keep(piece.id, rc, piece.text, took=round(end - float(piece.start), 2), cut=piece.cut)
            return
        # curl ended before these reads, because of an earlier one or because there is no curl.
        before = next((answer.err for id in piece.asked if (answer := self.answers.get(id)) and answer.rc), "")
        for id in piece.asked:
            if id in self.known and id not in self.answers:
                self.keep(id, rc or 1, "", err=before)

    def read(self, piece: Piece, number: int, status: str, took: float, said: str) -> None:
        """One read of the API: its body is what came since the last one."""
        id = piece.asked[number]
        self.open = Piece(API, KEPT_API, piece.start, piece.asked)
        ask, body, why = self.known[id].ask, piece.text, refusal(status, said, piece.text)
        if isinstance(ask, Api) and ask.keep and not why and not piece.cut:
            body = prune(body, ask.keep)
        self.keep(id, 1 if why else 0, body, err=why, took=round(took, 2), cut=piece.cut)

    def keep(
        self, id: str, rc: int, out: str, *, err: str = "", took: float = 0.0, cut: bool = False, lost: str = ""
    ) -> None:
        where = CLUSTER if self.known[id].where == "cluster" else self.host
        if rc == 0 and not cut:
            out = self.known[id].kept(out)
        self.answers[id] = Answer(id, where, rc, out, err, took, cut, lost)

    def finished(self) -> Iterator[Answer]:
        self.broken_off()
        for id, answer in self.answers.items():
            said = self.errors.get(API if answer.where == CLUSTER else id)
            err = answer.err or (said.text if said and (answer.where != CLUSTER or answer.rc) else "")
            yield Answer(id, answer.where, answer.rc, answer.out, err, answer.took, answer.cut, answer.lost)


def parse(lines: Iterable[str], marker: str, host: str, known: Mapping[str, Probe[Any]]) -> Iterator[Answer]:
    """Answers out of the lines of output and, after them, of error output. What is not ours is passed over; a broken
    one yields a lost Answer, and one that never came none."""
    reading = Reading(marker, host, known)
    for line in lines:
        reading.hear(line)
    yield from reading.finished()
