"""Recordings of a Prometheus: the queries of a command with their answers, as a file of JSON Lines.

The first line is `{schema, recorded_at, url, spec}`. Each further line is an answer. A command that reads a recording
asks the same queries, because the time that it asks for first is recorded as well.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpustack.ask.file_kind import QUERIES, describe_kind_of_file, read_head
from gpustack.ask.message import shorten_message
from gpustack.ask.redact.redact import redact
from gpustack.config.spec import Spec
from gpustack.errors import MissingDataError, UsageError, describe_os_error
from gpustack.files.json_text import dump_json, load_json, parse_json
from gpustack.files.number import parse_whole
from gpustack.files.read import open_file
from gpustack.files.write import write_file
from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.web import Access, Web

SCHEMA = "gpustack/queries/v1"
SECTIONS = ("capacity", "cost")
NO_JSON = "expected JSON"
MAX_BYTES = 2**30
Question = tuple[str, str]
"""The path after the address of the server, and the form."""


@dataclass(frozen=True)
class RecordedAnswer:
    path: str
    form: str
    status: int
    body: str

    @property
    def question(self) -> Question:
        return self.path, self.form


class RecordingWeb(Web):
    """Send requests, and keep the answers."""

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        self.answers: list[RecordedAnswer] = []

    def ask(self, url: str, method: str = "GET", form: str = "") -> tuple[int, bytes]:
        status, body = super().ask(url, method, form)
        path = url.removeprefix(self.access.url.rstrip("/"))
        self.answers.append(RecordedAnswer(path, form, status, body.decode(errors="replace")))
        return status, body


class RecordedWeb(Web):
    """Answer from a recording. Raise MissingDataError for a question that it does not have."""

    def __init__(self, access: Access, answers: Mapping[Question, RecordedAnswer]) -> None:
        super().__init__(access)
        self.answers = answers

    def ask(self, url: str, method: str = "GET", form: str = "") -> tuple[int, bytes]:
        answer = self.answers.get((url.removeprefix(self.access.url.rstrip("/")), form))
        if answer is None:
            message = "The recording has no answer to a query of this command."
            reason = "It is of another command or release, or of other options. Use those of the recorded command."
            raise MissingDataError(
                "metrics-recording", message, "\n".join(filter(None, (reason, self.describe_time())))
            )
        return answer.status, answer.body.encode()

    def describe_time(self) -> str:
        """Describe the time that the recorded command asked for. The text is empty where it asked for no range."""
        ranges = [times for _, form in self.answers if (times := find_range(form))]
        if not ranges:
            return ""
        begin = datetime.fromtimestamp(min(start for start, _ in ranges), UTC)
        end = datetime.fromtimestamp(max(end for _, end in ranges), UTC)
        hours = round((end - begin).total_seconds() / 3600)
        return f"That one asked for {begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC, {hours}h."


def find_range(form: str) -> tuple[int, int] | None:
    """Find the times of a query of a range, in seconds since 1970. Each value is of the step before its time."""
    values = [re.search(rf"(?:^|&){name}=(\d{{1,10}})(?:\.0)?(?:&|$)", form) for name in ("start", "end", "step")]
    start, end, step = (int(match[1]) if match else None for match in values)
    return None if start is None or end is None or step is None else (start - step, end)


@dataclass(frozen=True)
class Recording:
    """Hold a recording that was read. `spec` has the sections of the recorded spec that reports use."""

    web: RecordedWeb
    spec: Spec

    def open_prometheus(self) -> Prometheus:
        prometheus = Prometheus(self.web.access)
        prometheus.web = self.web
        return prometheus


def write_answers(path: Path, web: RecordingWeb, spec: Spec | None) -> None:
    """Write a recording that only its owner can read, without secrets. Raise OSError where that is not possible."""
    write_file(path, render_lines(web, spec or Spec()))


def render_lines(web: RecordingWeb, spec: Spec) -> Iterator[str]:
    recorded_at = datetime.now(UTC).isoformat(timespec="seconds")
    sections = spec.model_dump(mode="json", by_alias=True, include=set(SECTIONS))
    header = {"schema": SCHEMA, "recorded_at": recorded_at, "url": redact(web.access.url), "spec": sections}
    yield dump_json(header) + "\n"
    for answer in web.answers:
        yield dump_json(asdict(answer) | {"body": redact(answer.body)}) + "\n"


def read_answers(path: Path) -> Recording:
    """Read a recording. Raise UsageError for a file that is missing, or that is no recording of this release."""
    try:
        with open_file(path, MAX_BYTES) as file:
            header = parse_line(file.readline(), 1)
            spec, url = parse_header(header)
            answers = [parse_answer(parse_line(line, number), number) for number, line in enumerate(file, 2)]
            return Recording(RecordedWeb(Access(url), {answer.question: answer for answer in answers}), spec)
    except OSError as error:
        raise UsageError("metrics-recording", f"{path} cannot be read.", describe_os_error(error)) from None
    except ValueError as error:
        kind = describe_kind_of_file(read_head(path), QUERIES)
        message = f"{path} is no recording of queries that this release can read."
        raise UsageError("metrics-recording", message, kind or shorten_message(str(error))) from None


def parse_line(line: bytes, number: int) -> dict[str, Any]:
    """Parse a line of a recording, the first one within the bounds of a document. Raise ValueError with its number
    where it is no mapping."""
    try:
        document = parse_json(line) if number == 1 else load_json(line)
    except (ValueError, RecursionError):
        is_cut_off = line and not line.endswith(b"\n")
        raise ValueError(f"line {number}: {'the file is cut off in this line' if is_cut_off else NO_JSON}") from None
    if not isinstance(document, dict):
        raise ValueError(f"line {number}: expected a mapping")
    return document


def parse_header(header: Mapping[str, Any]) -> tuple[Spec, str]:
    """Parse the sections of the spec and the address of the server. Raise ValueError for another first line."""
    schema = header.get("schema")
    if schema != SCHEMA:
        mismatch = f"its schema is {schema}" if schema else "it has no schema"
        raise ValueError(f"line 1: {mismatch}, and this release reads {SCHEMA}")
    if not isinstance(url := header.get("url"), str):
        raise ValueError("line 1: url: expected a text")
    try:
        return Spec.model_validate({name: header["spec"][name] for name in SECTIONS}), url
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"line 1: spec: expected the sections {' and '.join(SECTIONS)} of a spec") from None


def parse_answer(line: Mapping[str, Any], number: int) -> RecordedAnswer:
    """Parse the answer of a line. Raise ValueError with its number and the key where a value is of another kind."""
    for name in ("path", "form", "body"):
        if not isinstance(line.get(name), str):
            raise ValueError(f"line {number}: {name}: expected a text")
    try:
        status = parse_whole(str(line.get("status")), 100, 599)
    except ValueError:
        raise ValueError(f"line {number}: status: expected a number from 100 to 599") from None
    return RecordedAnswer(line["path"], line["form"], status, line["body"])
