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

from gpustack.ask.api import describe_refusal
from gpustack.ask.probe import CLUSTER, Answer, Api, Probe
from gpustack.ask.prune import prune
from gpustack.files.number import parse_number, parse_whole

# Characters of a shell probe and of an API read, whose answer is pruned once it is here: a node object is 10 to 25 KB.
KEPT, KEPT_API, KEPT_ERR = 256 * 1024, 64 * 1024 * 1024, 8 * 1024
API = "@api"
TRUNCATED = "the answer was truncated"
ODD_LINE = "the line around the answer is not as gpustack's script writes it"
# Lowest and highest: an exit status, the seconds since a boot, and the seconds of a probe.
STATUS, UPTIME, TOOK = (0, 255), (0.0, 1e10), (0.0, 86400.0)


@dataclass
class Section:
    """What was printed between two lines of ours, up to `most` characters."""

    id: str
    most: int
    start: str = "0"
    ids: Sequence[str] = ()
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
class AnswerParser:
    """Answers as their last line comes; the error output is put beside them at the end."""

    marker: str
    host: str
    known: Mapping[str, Probe[Any]]
    answers: dict[str, Answer] = field(default_factory=dict)
    errors: dict[str, Section] = field(default_factory=dict)
    open: Section | None = None

    def feed(self, line: str) -> None:
        if not line.startswith(self.marker + " "):
            if self.open:
                self.open.add(line)
            return
        words = line.split(" ")[1:]
        try:
            self.parse_marker(words)
        except (ValueError, IndexError, KeyError):
            self.drop_open(ODD_LINE)

    def parse_marker(self, words: Sequence[str]) -> None:
        """Raises ValueError, IndexError or KeyError for a line that is not as ours are."""
        first = words[0]
        if first == "." and self.open:
            self.close_section(self.open, parse_whole(words[1], *STATUS), parse_number(words[2], *UPTIME))
        elif first == "=" and self.open and self.open.id == API:
            number = parse_whole(words[1], 0, len(self.open.ids) - 1)
            self.add_read(self.open, self.open.ids[number], words[2], words[3], " ".join(words[4:]))
        elif first.startswith("!"):
            self.drop_open()
            self.open = self.errors[first[1:]] = Section(first[1:], KEPT_ERR)
        elif first == API:
            self.open = Section(API, KEPT_API, words[1], words[2:])
        elif first in self.known:
            self.drop_open()
            self.open = Section(first, KEPT, words[1])
        else:
            self.drop_open()

    def drop_open(self, why: str = TRUNCATED) -> None:
        """Store that nothing is known of a probe whose output did not end as it should."""
        if self.open and self.open.id in self.known and self.open.id not in self.errors:
            self.store(self.open.id, -1, "", lost=why)
        self.open = None

    def close_section(self, section: Section, rc: int, end: float) -> None:
        """Raise ValueError, while the section is open, for a probe that took no time that there is."""
        if section.id != API:
            took = parse_number(round(end - parse_number(section.start, *UPTIME), 2), *TOOK)
            self.open = None
            self.store(section.id, rc, section.text, took=took, cut=section.cut)
            return
        self.open = None
        # curl ended before these reads, because of an earlier one or because there is no curl.
        before = next((answer.err for id in section.ids if (answer := self.answers.get(id)) and answer.rc), "")
        for id in section.ids:
            if id in self.known and id not in self.answers:
                self.store(id, rc or 1, "", err=before)

    def add_read(self, section: Section, id: str, status: str, took: str, error: str) -> None:
        """One read of the API: its body is what came since the last one."""
        self.open = Section(API, KEPT_API, section.start, section.ids)
        try:
            seconds = round(parse_number(took, *TOOK), 2)
        except ValueError:
            self.store(id, -1, "", lost=ODD_LINE)
            return
        ask, body, why = self.known[id].ask, section.text, describe_refusal(status, error, section.text)
        if isinstance(ask, Api) and ask.keep and not why and not section.cut:
            body = prune(body, ask.keep)
        self.store(id, 1 if why else 0, body, err=why, took=seconds, cut=section.cut)

    def store(
        self, id: str, rc: int, out: str, *, err: str = "", took: float = 0.0, cut: bool = False, lost: str = ""
    ) -> None:
        where = CLUSTER if self.known[id].location == "cluster" else self.host
        if rc == 0 and not cut:
            out = self.known[id].kept(out)
        self.answers[id] = Answer(id, where, rc, out, err, took, cut, lost)

    def finish(self) -> Iterator[Answer]:
        self.drop_open()
        for id, answer in self.answers.items():
            errors = self.errors.get(API if answer.where == CLUSTER else id)
            err = answer.err or (errors.text if errors and (answer.where != CLUSTER or answer.rc) else "")
            yield Answer(id, answer.where, answer.rc, answer.out, err, answer.took, answer.cut, answer.lost)


def parse(lines: Iterable[str], marker: str, host: str, known: Mapping[str, Probe[Any]]) -> Iterator[Answer]:
    """Answers out of the lines of output and, after them, of error output. What is not ours is passed over; a broken
    one yields a lost Answer, and one that never came none."""
    parser = AnswerParser(marker, host, known)
    for line in lines:
        parser.feed(line)
    yield from parser.finish()
