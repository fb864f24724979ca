"""The one way in which snapshots for tests are built."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpustack.ask.probe import Answer, FactUnavailable
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.firewall.flows import is_ipv4_address

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
    """Build a snapshot. Each answer gets the location that its key names; hosts that `reach` leaves out were reached
    where they are."""
    placed = {key: replace(answer, location=key[1]) for key, answer in answers.items()}
    reached = {host.name: Reach(host.name, address=find_address(host, placed)) for host in hosts}
    reached |= {one.host: one for one in reach}
    found = Inventory(Path(inventory), tuple(hosts), Spec.model_validate(spec or {}))
    return Snapshot(taken, found, reached, placed, seconds)


def find_address(host: Host, answers: Answers) -> str:
    """Return the address where SSH reaches an honest host: that of the inventory, or of a name the one it reports."""
    if is_ipv4_address(host.address) or (ADDRESS.id, host.name) not in answers:
        return ""
    try:
        return ADDRESS.extract_fact(answers[ADDRESS.id, host.name])
    except FactUnavailable:
        return ""
