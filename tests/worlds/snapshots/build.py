"""The one way in which snapshots for tests are built."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpustack.ask.probe import Answer, FactUnavailable
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.config.addresses import is_ipv4_address
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.probes.network.addresses import ADDRESS

TAKEN_AT = datetime(2026, 11, 21, 5, tzinfo=UTC)
Answers = Mapping[tuple[str, str], Answer]


def build(
    hosts: Sequence[Host],
    answers: Answers,
    spec: Mapping[str, Any] | None = None,
    reach: Iterable[Reach] = (),
    *,
    inventory: str = "hosts.yml",
    taken_at: datetime = TAKEN_AT,
    seconds: float = 0.0,
) -> Snapshot:
    """Build a snapshot. Each answer gets the location that its key names; hosts that `reach` leaves out were reached
    where they are."""
    placed_answers = {key: replace(answer, location=key[1]) for key, answer in answers.items()}
    reach_by_host = {host.name: Reach(host.name, address=find_address(host, placed_answers)) for host in hosts}
    reach_by_host |= {reach_of_host.host: reach_of_host for reach_of_host in reach}
    inventory_of_hosts = Inventory(Path(inventory), tuple(hosts), Spec.model_validate(spec or {}))
    return Snapshot(taken_at, inventory_of_hosts, reach_by_host, placed_answers, seconds)


def find_address(host: Host, answers: Answers) -> str:
    """Return the address where SSH reaches an honest host: that of the inventory, or of a name the one it reports."""
    if is_ipv4_address(host.address) or (ADDRESS.id, host.name) not in answers:
        return ""
    try:
        return ADDRESS.extract_fact(answers[ADDRESS.id, host.name])
    except FactUnavailable:
        return ""
