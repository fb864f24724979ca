"""A snapshot as a file: JSON Lines, redacted. First `{schema, taken, took, source, spec, hosts}`, then one Answer per
line, grouped by host, so that a reader needs to hold one host at a time.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.redact import redact
from gpustack.ask.snapshot import Reach, Snapshot, keyed
from gpustack.config.host import Host, HostSpec
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.errors import UsageError

SCHEMA = "gpustack/recording/v1"
HOST_FIELDS = ("name", "address", "connection", "port", "user")
DEFAULTS = {field.name: field.default for field in fields(Answer)}


@dataclass(frozen=True)
class Header:
    """All of a recording but its answers."""

    taken: datetime
    took: float
    inventory: Inventory
    reach: dict[str, Reach]


def write(snapshot: Snapshot, path: Path, *, redacted: bool = True) -> None:
    """Readable by its owner only: what a host says is nobody else's before its owner hands it on."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.writelines(lines(snapshot, redacted=redacted))


def lines(snapshot: Snapshot, *, redacted: bool = True) -> Iterator[str]:
    inventory = snapshot.inventory
    secrets = [host.become_password for host in inventory.hosts if host.become_password] if redacted else []

    def said(text: str) -> str:
        return redact(text, secrets) if redacted else text

    header = {
        "schema": SCHEMA,
        "taken": snapshot.taken.isoformat(timespec="milliseconds"),
        "took": round(snapshot.took, 3),
        "source": str(inventory.source) if inventory.source else None,
        "spec": inventory.spec.model_dump(mode="json", by_alias=True),
        "hosts": [host_line(host, snapshot.reach.get(host.name), said) for host in inventory.hosts],
    }
    yield json.dumps(header) + "\n"
    places = {host.name: at for at, host in enumerate(inventory.hosts)} | {CLUSTER: len(inventory.hosts)}
    for answer in sorted(snapshot.answers.values(), key=lambda found: places[found.where]):
        entry = {key: value for key, value in asdict(answer).items() if value != DEFAULTS[key]}
        yield (
            json.dumps({key: said(value) if key in ("out", "err", "lost") else value for key, value in entry.items()})
            + "\n"
        )


def host_line(host: Host, reach: Reach | None, said: Any) -> dict[str, Any]:
    """Nothing of how to log in but the user's name: no key, no password, no ssh arguments."""
    entry: dict[str, Any] = {name: value for name in HOST_FIELDS if (value := getattr(host, name)) is not None}
    entry |= {"groups": sorted(host.groups), "spec": host.spec.model_dump(mode="json", exclude_none=True)}
    if reach:
        entry["reach"] = (
            {"reference": reach.reference, "why": said(reach.why), "hint": said(reach.hint)} if reach.reference else {}
        )
    return entry


def read(path: Path) -> Snapshot:
    """Raises UsageError when the file is not there, or is not a recording that this release can read."""
    try:
        with path.open() as file:
            header, hosts = stream(file)
            answers: dict[tuple[str, str], Answer] = {}
            for _, found in hosts:
                answers.update(keyed(found))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise UsageError(
            "recording-unreadable", f"{path} is not a recording.", why, "gpustack snapshot --out FILE"
        ) from error
    return Snapshot(
        header.taken, header.inventory, MappingProxyType(header.reach), MappingProxyType(answers), header.took
    )


def stream(given: Iterable[str]) -> tuple[Header, Iterator[tuple[str, tuple[Answer, ...]]]]:
    """The header, and the answers of one host after the other. Raises ValueError, KeyError or TypeError on any other
    shape, the iterator too."""
    source = iter(given)
    head = json.loads(next(source, ""))
    if head["schema"] != SCHEMA:
        raise ValueError(f"it is of schema {head['schema']}, this release reads {SCHEMA}")
    answers = (Answer(**json.loads(line)) for line in source)
    hosts = ((where, tuple(found)) for where, found in groupby(answers, key=lambda answer: answer.where))
    return header_of(head), hosts


def header_of(head: dict[str, Any]) -> Header:
    hosts = tuple(
        Host(
            **{name: entry[name] for name in HOST_FIELDS if name in entry},
            groups=frozenset(entry["groups"]),
            spec=HostSpec.model_validate(entry["spec"]),
        )
        for entry in head["hosts"]
    )
    return Header(
        taken=datetime.fromisoformat(head["taken"]),
        took=float(head["took"]),
        inventory=Inventory(Path(head["source"]) if head["source"] else None, hosts, Spec.model_validate(head["spec"])),
        reach={entry["name"]: Reach(entry["name"], **entry["reach"]) for entry in head["hosts"] if "reach" in entry},
    )
