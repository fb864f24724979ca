"""The faults that a lab has: a list in its state directory, so that another command can undo them."""

import json
from dataclasses import asdict, dataclass

from gpustack_lab.lab.state import Record


@dataclass(frozen=True)
class ActiveFault:
    """Describe a fault on `host`. `injector` is FAULT or FAULT/VARIANT."""

    injector: str
    host: str


def read(record: Record) -> list[ActiveFault]:
    """Read the faults in the order of their injection."""
    path = record.state / "broken.json"
    return [ActiveFault(**entry) for entry in json.loads(path.read_text())] if path.exists() else []


def write(record: Record, faults: list[ActiveFault]) -> None:
    path = record.state / "broken.json"
    new_file = path.with_suffix(".new")
    new_file.write_text(json.dumps([asdict(fault) for fault in faults], indent=1))
    new_file.replace(path)
