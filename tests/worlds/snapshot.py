"""What the snapshots of all these worlds are made of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec

TAKEN = datetime(2026, 11, 21, 5, tzinfo=UTC)
Answers = Mapping[tuple[str, str], Answer]


def build(
    hosts: Sequence[Host],
    answers: Answers,
    spec: Mapping[str, Any] | None = None,
    reach: Iterable[Reach] = (),
    *,
    inventory: str = "hosts.yml",
    taken: datetime = TAKEN,
    seconds: float = 0.0,
) -> Snapshot:
    """Each answer is of the location that its key names; hosts that `reach` leaves out were reached."""
    placed = {key: replace(answer, where=key[1]) for key, answer in answers.items()}
    reached = {host.name: Reach(host.name) for host in hosts} | {one.host: one for one in reach}
    found = Inventory(Path(inventory), tuple(hosts), Spec.model_validate(spec or {}))
    return Snapshot(taken, found, reached, placed, seconds)
