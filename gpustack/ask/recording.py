"""Recordings: a snapshot as a file of JSON Lines, redacted.

The first line is `{schema, started_at, seconds, source, spec, values, hosts}`. Each further line is an Answer; they are
grouped by host, so that a reader needs to hold one host at a time.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from ipaddress import ip_address
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from gpustack.ask.answers import SECONDS_BOUNDS, STATUS_BOUNDS
from gpustack.ask.file_kind import RECORDING, describe_kind_of_file, read_head
from gpustack.ask.probe import CLUSTER, UNREADABLE, Answer
from gpustack.ask.redact.redact import redact
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.type_check import fits
from gpustack.command import Command
from gpustack.config.host import Host, HostSpec
from gpustack.config.inventory import Inventory
from gpustack.config.pydantic_errors import describe_kind
from gpustack.config.secrets.secret_values import redact_secrets
from gpustack.config.spec import Spec
from gpustack.errors import UsageError, describe_os_error
from gpustack.files.document import YAML_TEXT_LIMIT, DocumentError, LimitError
from gpustack.files.json_text import dump_json, parse_json
from gpustack.files.number import parse_number
from gpustack.files.read import open_file
from gpustack.files.write import write_file

KIND = "gpustack/recording/"
VERSION = 2
SCHEMA = f"{KIND}v{VERSION}"
MAX_BYTES = 2**30
"""The most bytes of a recording. A recording of 30 hosts has 5 MiB."""
MAX_HEADER = YAML_TEXT_LIMIT
"""The most bytes of the first line, whose values are searched for secrets, as YAML too."""
PLAIN_FIELDS = ("probe", "location")
"""These fields name an answer. All other texts of an answer may hold a secret and are redacted, also those of a field
that is added later."""
HOST_FIELDS = ("name", "address", "connection", "port", "user")
Kind = TypeVar("Kind")
REFERENCE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
DEFAULTS = {field.name: field.default for field in fields(Answer)}


@dataclass(frozen=True)
class Header:
    """Hold all of a recording except its answers."""

    started_at: datetime
    seconds: float
    inventory: Inventory
    reach: dict[str, Reach]


def write_recording(snapshot: Snapshot, path: Path, *, redacted: bool = True) -> None:
    """Write a recording that only its owner can read. Raise OSError where the file cannot be written."""
    write_file(path, render_lines(snapshot, redacted=redacted))


def render_lines(snapshot: Snapshot, *, redacted: bool = True) -> Iterator[str]:
    inventory = snapshot.inventory

    def hide(text: str) -> str:
        return redact(text, inventory.secrets) if redacted else text

    header = {
        "schema": SCHEMA,
        "started_at": snapshot.started_at.isoformat(timespec="milliseconds"),
        "seconds": round(snapshot.seconds, 3),
        "source": str(inventory.source) if inventory.source else None,
        "spec": map_texts(inventory.spec.model_dump(mode="json", by_alias=True), redact if redacted else str),
        "values": redact_values(inventory) if redacted else dict(inventory.values),
        "hosts": [build_host_entry(host, snapshot.reach.get(host.name), hide) for host in inventory.hosts],
    }
    yield dump_json(header) + "\n"
    places = {host.name: position for position, host in enumerate(inventory.hosts)} | {CLUSTER: len(inventory.hosts)}
    for answer in sorted(snapshot.answers.values(), key=lambda snapshot_answer: places[snapshot_answer.location]):
        entry = {key: value for key, value in asdict(answer).items() if value != DEFAULTS[key]}
        texts = {key: value for key, value in entry.items() if isinstance(value, str) and key not in PLAIN_FIELDS}
        yield dump_json(entry | {key: hide(text) for key, text in texts.items()}) + "\n"


def redact_values(inventory: Inventory) -> Any:
    return map_texts(redact_secrets(dict(inventory.values)), lambda text: redact(text, inventory.secrets))


def map_texts(document: Any, change: Callable[[str], str]) -> Any:
    """Return the same document with `change` applied to each text in it."""
    if isinstance(document, dict):
        return {key: map_texts(inner, change) for key, inner in document.items()}
    if isinstance(document, (list, tuple)):
        return [map_texts(inner, change) for inner in document]
    return change(document) if isinstance(document, str) else document


def build_host_entry(host: Host, reach: Reach | None, hide: Any) -> dict[str, Any]:
    """Build the entry of a host. It has nothing of the login but the user's name: no key, no password, no ssh
    arguments."""
    entry: dict[str, Any] = {name: value for name in HOST_FIELDS if (value := getattr(host, name)) is not None}
    entry |= {"groups": sorted(host.groups), "spec": host.spec.model_dump(mode="json", exclude_none=True)}
    if reach:
        refusal = {"reference": reach.reference, "reason": hide(reach.reason)}
        address_entry = {"address": reach.address} if reach.address else {}
        entry["reach"] = refusal if reach.reference else address_entry
    return entry


def read_recording(path: Path) -> Snapshot:
    """Read a recording. Raise UsageError where the file is missing, or is no recording that this release can read."""
    try:
        with open_file(path, MAX_BYTES) as file:
            header, hosts = parse_recording(file)
            answers = {(answer.probe, answer.location): answer for _, host_answers in hosts for answer in host_answers}
    except (OSError, *UNREADABLE) as error:
        reason = f"{describe_read_error(error, path)}\nA recording is a file that `gpustack snapshot` writes."
        refusal = "cannot be read" if isinstance(error, OSError) else "is no recording that this release can read"
        raise UsageError(
            "recording-unreadable",
            f"{path} {refusal}.",
            reason,
            Command("gpustack", "snapshot", "--out", "FILE"),
        ) from error
    return Snapshot(
        header.started_at, header.inventory, MappingProxyType(header.reach), MappingProxyType(answers), header.seconds
    )


def describe_read_error(error: Exception, path: Path) -> str:
    """Describe in words why a recording cannot be read. The message of a ValueError of this module is used as it is."""
    if isinstance(error, OSError):
        return f"{describe_os_error(error)}."
    if type(error) is ValueError:
        return f"{error}."
    if isinstance(error, LimitError):
        return f"Its first line has {error.reason}."
    if isinstance(error, DocumentError):
        if kind := describe_kind_of_file(read_head(path), RECORDING):
            return f"{kind[:1].upper()}{kind[1:]}."
        return "Its first line is not JSON: this is another kind of file, or the line is cut off."
    return "Its first line is incomplete: hosts, spec or time are missing or of the wrong type."


def parse_recording(lines: Iterable[str | bytes]) -> tuple[Header, Iterator[tuple[str, tuple[Answer, ...]]]]:
    """Parse the header, and return an iterator over the answers of one host after the other.

    Raise ValueError, KeyError or TypeError where a line has another shape; the iterator raises them too.
    """
    source = iter(lines)
    first = next(source, "")
    if not first.strip():
        raise ValueError("Its first line is empty")
    if len(first) > MAX_HEADER:
        raise ValueError(f"its first line is longer than {MAX_HEADER} bytes")
    head = parse_json(first)
    schema = head.get("schema") if isinstance(head, dict) else None
    if schema is None:
        raise ValueError(f"Its first line has no schema, and this release reads {SCHEMA}")
    if schema != SCHEMA:
        raise ValueError(f"Its schema is {schema}: {name_writer(schema)} wrote it, and this release reads {SCHEMA}")
    header = parse_header(head)
    places = {CLUSTER, *(host.name for host in header.inventory.hosts)}
    answers = parse_answer_lines(source, places)
    hosts = ((location, tuple(host_answers)) for location, host_answers in groupby(answers, key=attrgetter("location")))
    return header, hosts


def name_writer(schema: object) -> str:
    """Name the program that wrote a recording with another schema."""
    version = str(schema).removeprefix(f"{KIND}v")
    if str(schema).startswith(KIND) and version.isascii() and version.isdecimal():
        return "a newer release" if int(version) > VERSION else "an older release"
    if str(schema).startswith("gpustack/queries/"):
        return "a command such as `gpustack gpu list`"
    return "another command of gpustack" if str(schema).startswith("gpustack/") else "another program"


def check_type(value: Kind) -> Kind:
    """Return the value where its fields have their annotated types. Raise ValueError where one has not."""
    if not fits(value, type(value)):
        raise ValueError(f"a value of the wrong type: {value}")
    return value


def parse_answer_lines(lines: Iterable[str | bytes], places: Container[str]) -> Iterator[Answer]:
    reader = TypeAdapter(Answer)
    for number, line in enumerate(lines, start=2):
        try:
            answer = reader.validate_json(line)
        except ValidationError as error:
            reason = "; ".join(map(format_validation_error, error.errors(include_url=False, include_input=False)))
            if line[-1:] not in ("\n", b"\n") and error.errors()[0]["type"] == "json_invalid":
                reason = "the file is cut off in this line"
            raise ValueError(f"line {number}: {reason}") from error
        if not (-1 <= answer.rc <= STATUS_BOUNDS[1] and SECONDS_BOUNDS[0] <= answer.seconds <= SECONDS_BOUNDS[1]):
            raise ValueError(f"line {number}: rc {answer.rc} or seconds {answer.seconds:g} is out of bounds")
        if answer.location not in places:
            raise ValueError(f"line {number}: an answer of {answer.location}, which is no host of the recording")
        yield answer


def format_validation_error(entry: ErrorDetails) -> str:
    return f"{'.'.join(map(str, entry['loc'])) or 'an answer'}: expected {describe_kind(entry)}"


def check_values(document: Any) -> dict[str, dict[str, Any]]:
    """Return the values of Helm in a header. Raise ValueError where they are no mappings."""
    if not isinstance(document, dict) or not all(isinstance(values, dict) for values in document.values()):
        raise ValueError("its values are not mappings")
    return document


def parse_field(head: dict[str, Any], name: str, parse: Callable[[Any], Kind]) -> Kind:
    """Parse a field of a header. Raise ValueError that names it, and KeyError where it is missing."""
    value = head[name]
    try:
        return parse(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"Its first line has {name} {dump_json(value)[:40]}, which is out of bounds or of another kind"
        ) from None


def parse_header(head: dict[str, Any]) -> Header:
    hosts = tuple(
        check_type(
            Host(
                **{name: entry[name] for name in HOST_FIELDS if name in entry},
                groups=frozenset(entry["groups"]),
                spec=HostSpec.model_validate(entry["spec"]),
            )
        )
        for entry in head["hosts"]
    )
    started_at = parse_field(head, "started_at", datetime.fromisoformat)
    seconds = parse_field(head, "seconds", lambda number: parse_number(number, *SECONDS_BOUNDS))
    if started_at.tzinfo is None or len({host.name for host in hosts}) < len(hosts):
        raise ValueError("its time has no zone, or a host is in it twice")
    source = Path(head["source"]) if head["source"] else None
    inventory = Inventory(
        source, hosts, Spec.model_validate(head["spec"]), check_values(head.get("values", {})), recorded=True
    )
    if not inventory.control_planes and not (hosts and all(host.standalone for host in hosts)):
        raise ValueError("none of its hosts is a control plane")
    entries = {entry["name"]: entry["reach"] for entry in head["hosts"] if "reach" in entry}
    reach = {name: parse_reach(name, entry) for name, entry in entries.items()}
    return Header(started_at, seconds, inventory, reach)


def parse_reach(name: str, entry: Mapping[str, Any]) -> Reach:
    """Parse how a host was reached.

    The hint is built from the reference and is not read from the file: whoever wrote the file would choose what is
    typed. Raise ValueError, KeyError or TypeError where the entry has another shape.
    """
    if not entry or set(entry) == {"address"}:
        return Reach(name, address=str(ip_address(check_type(str(entry["address"])))) if entry else "")
    reference = entry["reference"]
    if not isinstance(reference, str) or not REFERENCE.fullmatch(reference):
        raise ValueError(f"no reference of an error: {reference}")
    return check_type(Reach(name, reference, entry["reason"], Command("gpustack", "explain", reference)))
