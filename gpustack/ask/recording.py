"""A snapshot as a file: JSON Lines, redacted. First `{schema, taken, took, source, spec, hosts}`, then one Answer per
line, grouped by host, so that a reader needs to hold one host at a time.
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

from gpustack.ask.answers import STATUS, TOOK
from gpustack.ask.probe import CLUSTER, UNREADABLE, Answer
from gpustack.ask.redact.redact import redact
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.typed import fits
from gpustack.command import Command
from gpustack.config.host import Host, HostSpec
from gpustack.config.inventory import Inventory
from gpustack.config.secrets.secret_values import without_secrets
from gpustack.config.spec import Spec
from gpustack.errors import UsageError
from gpustack.files.document import YAML_TEXT, DocumentError, LimitError
from gpustack.files.json_text import dump_json, parse_json
from gpustack.files.number import parse_number
from gpustack.files.read import open_file
from gpustack.files.write import write_file

SCHEMA = "gpustack/recording/v1"
LARGEST = 2**30
"""Bytes of a recording. One of 30 hosts has 5 MiB."""
LONGEST = YAML_TEXT
"""Bytes of the first line, whose values are looked through for secrets, as YAML too."""
HOST_FIELDS = ("name", "address", "connection", "port", "user")
Kind = TypeVar("Kind")
REFERENCE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
DEFAULTS = {field.name: field.default for field in fields(Answer)}


@dataclass(frozen=True)
class Header:
    """All of a recording but its answers."""

    taken: datetime
    took: float
    inventory: Inventory
    reach: dict[str, Reach]


def write(snapshot: Snapshot, path: Path, *, redacted: bool = True) -> None:
    """Readable by its owner only: what a host says is nobody else's before its owner hands it on. Raises OSError."""
    write_file(path, lines(snapshot, redacted=redacted))


def lines(snapshot: Snapshot, *, redacted: bool = True) -> Iterator[str]:
    inventory = snapshot.inventory

    def hide(text: str) -> str:
        return redact(text, inventory.secrets) if redacted else text

    header = {
        "schema": SCHEMA,
        "taken": snapshot.taken.isoformat(timespec="milliseconds"),
        "took": round(snapshot.took, 3),
        "source": str(inventory.source) if inventory.source else None,
        "spec": leaves(inventory.spec.model_dump(mode="json", by_alias=True), redact if redacted else str),
        "values": values_without_secrets(inventory) if redacted else dict(inventory.values),
        "hosts": [host_line(host, snapshot.reach.get(host.name), hide) for host in inventory.hosts],
    }
    yield dump_json(header) + "\n"
    places = {host.name: at for at, host in enumerate(inventory.hosts)} | {CLUSTER: len(inventory.hosts)}
    for answer in sorted(snapshot.answers.values(), key=lambda found: places[found.where]):
        entry = {key: value for key, value in asdict(answer).items() if value != DEFAULTS[key]}
        yield (
            dump_json({key: hide(value) if key in ("out", "err", "lost") else value for key, value in entry.items()})
            + "\n"
        )


def values_without_secrets(inventory: Inventory) -> Any:
    return leaves(without_secrets(dict(inventory.values)), lambda text: redact(text, inventory.secrets))


def leaves(value: Any, change: Callable[[str], str]) -> Any:
    """The same with each text as `change` makes it."""
    if isinstance(value, dict):
        return {key: leaves(inner, change) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [leaves(inner, change) for inner in value]
    return change(value) if isinstance(value, str) else value


def host_line(host: Host, reach: Reach | None, hide: Any) -> dict[str, Any]:
    """Nothing of how to log in but the user's name: no key, no password, no ssh arguments."""
    entry: dict[str, Any] = {name: value for name in HOST_FIELDS if (value := getattr(host, name)) is not None}
    entry |= {"groups": sorted(host.groups), "spec": host.spec.model_dump(mode="json", exclude_none=True)}
    if reach:
        refusal = {"reference": reach.reference, "why": hide(reach.why)}
        connected = {"address": reach.address} if reach.address else {}
        entry["reach"] = refusal if reach.reference else connected
    return entry


def read(path: Path) -> Snapshot:
    """Raises UsageError when the file is not there, or is not a recording that this release can read."""
    try:
        with open_file(path, LARGEST) as file:
            header, hosts = stream(file)
            answers = {(answer.probe, answer.where): answer for _, found in hosts for answer in found}
    except (OSError, *UNREADABLE) as error:
        why = f"{reason(error)}\nA recording is a file that `gpustack snapshot` writes."
        raise UsageError(
            "recording-unreadable", f"{path} is not a recording.", why, Command("gpustack", "snapshot", "--out", "FILE")
        ) from error
    return Snapshot(
        header.taken, header.inventory, MappingProxyType(header.reach), MappingProxyType(answers), header.took
    )


def reason(error: Exception) -> str:
    """What is wrong with the file. A ValueError of this module says it, as all errors after the first line are."""
    if isinstance(error, OSError):
        return f"{error.strerror or error}."
    if type(error) is ValueError:
        return f"{error}."
    if isinstance(error, LimitError):
        return f"Its first line has {error.reason}."
    if isinstance(error, DocumentError):
        return "Its first line is not JSON: this is another kind of file, or the line is cut off."
    return "Its first line is incomplete: hosts, settings or the time are missing or of the wrong type."


def stream(given: Iterable[str | bytes]) -> tuple[Header, Iterator[tuple[str, tuple[Answer, ...]]]]:
    """The header, and the answers of one host after the other. Raises ValueError, KeyError or TypeError on any other
    shape, the iterator too."""
    source = iter(given)
    first = next(source, "")
    if not first.strip():
        raise ValueError("Its first line is empty")
    if len(first) > LONGEST:
        raise ValueError(f"its first line is longer than {LONGEST} bytes")
    head = parse_json(first)
    schema = head.get("schema", "none") if isinstance(head, dict) else "none"
    if schema != SCHEMA:
        raise ValueError(f"its schema is {schema}, this release reads {SCHEMA}")
    header = header_of(head)
    places = {CLUSTER, *(host.name for host in header.inventory.hosts)}
    answers = answers_of(source, places)
    hosts = ((where, tuple(found)) for where, found in groupby(answers, key=attrgetter("where")))
    return header, hosts


def typed(value: Kind) -> Kind:
    """A file is as little to be trusted as a host."""
    if not fits(value, type(value)):
        raise ValueError(f"a value of the wrong type: {value}")
    return value


def answers_of(lines: Iterable[str | bytes], places: Container[str]) -> Iterator[Answer]:
    reader = TypeAdapter(Answer)
    for number, line in enumerate(lines, start=2):
        try:
            answer = reader.validate_json(line)
        except ValidationError as error:
            why = "; ".join(map(wrong, error.errors(include_url=False, include_input=False)))
            raise ValueError(f"line {number}: {why}") from error
        if not (-1 <= answer.rc <= STATUS[1] and TOOK[0] <= answer.took <= TOOK[1]):
            raise ValueError(f"line {number}: rc {answer.rc} or took {answer.took:g} is out of bounds")
        if answer.where not in places:
            raise ValueError(f"line {number}: an answer of {answer.where}, which is no host of the recording")
        yield answer


def wrong(entry: ErrorDetails) -> str:
    words = entry["msg"].partition(" at line ")[0]
    return f"{'.'.join(map(str, entry['loc'])) or 'an answer'}: {words}"


def values_of(document: Any) -> dict[str, dict[str, Any]]:
    """Of a recording of before there were some, none."""
    if not isinstance(document, dict) or not all(isinstance(values, dict) for values in document.values()):
        raise ValueError("its values are not mappings")
    return document


def header_of(head: dict[str, Any]) -> Header:
    hosts = tuple(
        typed(
            Host(
                **{name: entry[name] for name in HOST_FIELDS if name in entry},
                groups=frozenset(entry["groups"]),
                spec=HostSpec.model_validate(entry["spec"]),
            )
        )
        for entry in head["hosts"]
    )
    taken, took = datetime.fromisoformat(head["taken"]), parse_number(head["took"], *TOOK)
    if taken.tzinfo is None or len({host.name for host in hosts}) < len(hosts):
        raise ValueError("its time has no zone, or a host is in it twice")
    source = Path(head["source"]) if head["source"] else None
    inventory = Inventory(source, hosts, Spec.model_validate(head["spec"]), values_of(head.get("values", {})))
    if not inventory.control_planes and not (hosts and all(host.standalone for host in hosts)):
        raise ValueError("none of its hosts is a control plane")
    entries = {entry["name"]: entry["reach"] for entry in head["hosts"] if "reach" in entry}
    reach = {name: read_reach(name, entry) for name, entry in entries.items()}
    return Header(taken, took, inventory, reach)


def read_reach(name: str, entry: Mapping[str, Any]) -> Reach:
    """Read how a host was reached. What to type about it is not taken from the file: whoever wrote the file would
    choose it. Raises ValueError, KeyError or TypeError for another shape."""
    if not entry or set(entry) == {"address"}:
        return Reach(name, address=str(ip_address(typed(str(entry["address"])))) if entry else "")
    reference = entry["reference"]
    if not isinstance(reference, str) or not REFERENCE.fullmatch(reference):
        raise ValueError(f"no reference of an error: {reference}")
    return typed(Reach(name, reference, entry.get("why", ""), Command("gpustack", "explain", reference)))
