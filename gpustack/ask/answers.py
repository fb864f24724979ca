"""Parsing of the output of ask/script.py into Answers.

A line of the random marker opens and closes what a probe printed; the newline before it belongs to the marker:

    MARKER system.os 12.34          MARKER @api 12.60 kube.readyz kube.nodes
    …its output…                    …body of the first read…
    MARKER . 0 12.36                MARKER = 0 200 0.004
                                    …
                                    MARKER . 0 12.70

Error output comes on its own stream, after the output, below lines like `MARKER !system.os`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpustack.ask.api import describe_refusal
from gpustack.ask.probe import CLUSTER, Answer, Api, Probe
from gpustack.ask.prune import prune
from gpustack.files.number import parse_number, parse_whole

# Characters of a shell probe and of an API read, whose answer is pruned once it is here: a node object is 10 to 25 KB.
MAX_STDOUT, MAX_BODY, MAX_STDERR = 256 * 1024, 64 * 1024 * 1024, 8 * 1024
API = "@api"
TRUNCATION_REASON = "the answer was truncated"
ODD_LINE = "the line around the answer is not as gpustack's script writes it"
# Lowest and highest: an exit status, the seconds since a boot, and the seconds of a probe.
STATUS_BOUNDS, UPTIME_BOUNDS, SECONDS_BOUNDS = (0, 255), (0.0, 1e10), (0.0, 86400.0)


@dataclass
class Section:
    """Hold what was printed between two lines of the marker, up to `max_size` characters."""

    id: str
    max_size: int
    start: str = "0"
    ids: Sequence[str] = ()
    lines: list[str] = field(default_factory=list)
    size: int = -1
    cut: bool = False

    def add_line(self, line: str) -> None:
        remaining_size = self.max_size - self.size - 1
        self.size += len(line) + 1
        if not self.cut:
            self.lines.append(line[: max(remaining_size, 0)])
            self.cut = len(line) > remaining_size

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass
class AnswerParser:
    """Parse the output of a script line by line. An answer is stored with its last line; its error output is added at
    the end."""

    marker: str
    host: str
    probes: Mapping[str, Probe[Any]]
    answers: dict[str, Answer] = field(default_factory=dict)
    errors: dict[str, Section] = field(default_factory=dict)
    open_section: Section | None = None

    def parse_line(self, line: str) -> None:
        if not line.startswith(self.marker + " "):
            if self.open_section:
                self.open_section.add_line(line)
            return
        words = line.split(" ")[1:]
        try:
            self.parse_marker(words)
        except (ValueError, IndexError, KeyError):
            self.drop_section(ODD_LINE)

    def parse_marker(self, words: Sequence[str]) -> None:
        """Parse a line of the marker. Raise ValueError, IndexError or KeyError where the script does not print such a
        line."""
        first = words[0]
        if first == "." and self.open_section:
            self.close_section(
                self.open_section, parse_whole(words[1], *STATUS_BOUNDS), parse_number(words[2], *UPTIME_BOUNDS)
            )
        elif first == "=" and self.open_section and self.open_section.id == API:
            number = parse_whole(words[1], 0, len(self.open_section.ids) - 1)
            self.add_read(self.open_section, self.open_section.ids[number], words[2], words[3], " ".join(words[4:]))
        elif first.startswith("!"):
            self.drop_section()
            self.open_section = self.errors[first[1:]] = Section(first[1:], MAX_STDERR)
        elif first == API:
            self.open_section = Section(API, MAX_BODY, words[1], words[2:])
        elif first in self.probes:
            self.drop_section()
            self.open_section = Section(first, MAX_STDOUT, words[1])
        else:
            self.drop_section()

    def drop_section(self, reason: str = TRUNCATION_REASON) -> None:
        """Store that nothing is known of a probe whose output did not end as it should."""
        if self.open_section and self.open_section.id in self.probes and self.open_section.id not in self.errors:
            self.store_answer(self.open_section.id, -1, "", missing_reason=reason)
        self.open_section = None

    def close_section(self, section: Section, rc: int, end: float) -> None:
        """Store the answers of a section. Raise ValueError, while the section is open, where its end is before its
        start."""
        if section.id != API:
            duration = parse_number(round(end - parse_number(section.start, *UPTIME_BOUNDS), 2), *SECONDS_BOUNDS)
            self.open_section = None
            self.store_answer(section.id, rc, section.text, seconds=duration, cut=section.cut)
            return
        self.open_section = None
        # curl ended before these reads, because of an earlier one or because there is no curl.
        before = next((answer.stderr for id in section.ids if (answer := self.answers.get(id)) and answer.rc), "")
        for id in section.ids:
            if id in self.probes and id not in self.answers:
                self.store_answer(id, rc or 1, "", stderr=before)

    def add_read(self, section: Section, id: str, status: str, duration: str, error: str) -> None:
        """Store the answer of one read of the API, whose body is what came since the read before it."""
        self.open_section = Section(API, MAX_BODY, section.start, section.ids)
        try:
            seconds = round(parse_number(duration, *SECONDS_BOUNDS), 2)
        except ValueError:
            self.store_answer(id, -1, "", missing_reason=ODD_LINE)
            return
        question, body, reason = self.probes[id].question, section.text, describe_refusal(status, error, section.text)
        if isinstance(question, Api) and question.fields and not reason and not section.cut:
            body = prune(body, question.fields)
        self.store_answer(id, 1 if reason else 0, body, stderr=reason, seconds=seconds, cut=section.cut)

    def store_answer(
        self,
        id: str,
        rc: int,
        stdout: str,
        *,
        stderr: str = "",
        seconds: float = 0.0,
        cut: bool = False,
        missing_reason: str = "",
    ) -> None:
        location = CLUSTER if self.probes[id].scope == "cluster" else self.host
        if rc == 0 and not cut:
            stdout = self.probes[id].prune_output(stdout)
        self.answers[id] = Answer(id, location, rc, stdout, stderr, seconds, cut, missing_reason)

    def finish(self) -> Iterator[Answer]:
        self.drop_section()
        for id, answer in self.answers.items():
            errors = self.errors.get(API if answer.location == CLUSTER else id)
            stderr = answer.stderr or (errors.text if errors and (answer.location != CLUSTER or answer.rc) else "")
            yield Answer(
                id, answer.location, answer.rc, answer.stdout, stderr, answer.seconds, answer.cut, answer.missing_reason
            )


def parse_answers(lines: Iterable[str], marker: str, host: str, probes: Mapping[str, Probe[Any]]) -> Iterator[Answer]:
    """Parse answers from the lines of output and, after them, of error output.

    Lines outside of sections are ignored. A damaged section yields an answer with a `missing_reason`; a probe that
    printed no section yields no answer.
    """
    parser = AnswerParser(marker, host, probes)
    for line in lines:
        parser.parse_line(line)
    yield from parser.finish()
