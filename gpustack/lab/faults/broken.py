"""What of a lab is broken on purpose: a list in its state directory, so that it can be healed by another command."""

import json
from dataclasses import asdict, dataclass

from gpustack.lab.state import Record


@dataclass(frozen=True)
class Broken:
    """`injector` is FAULT or FAULT/WAY, made on `host`."""

    injector: str
    host: str


def read(record: Record) -> list[Broken]:
    """In the order in which they were made."""
    path = record.state / "broken.json"
    return [Broken(**one) for one in json.loads(path.read_text())] if path.exists() else []


def write(record: Record, broken: list[Broken]) -> None:
    path = record.state / "broken.json"
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps([asdict(one) for one in broken], indent=1))
    fresh.replace(path)
