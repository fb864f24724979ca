"""A lab that is up, as tests and the command line use it."""

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpustack.errors import LabError
from gpustack.events import Reporter, silent
from gpustack.lab import hosts, leftovers, snapshots, state
from gpustack.lab.state import Host, Record, Source
from gpustack.lab.up import Mirror, bring_up


@dataclass(frozen=True)
class Lab:
    record: Record
    report: Reporter = silent

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def hosts(self) -> tuple[Host, ...]:
        return self.record.hosts

    @property
    def inventory(self) -> Path:
        return self.record.state / "inventory"

    @property
    def ssh_config(self) -> Path:
        return self.record.state / "ssh_config"

    def exec(self, host: str, argv: Sequence[str], *, text: str = "", limit: float = 600.0) -> subprocess.CompletedProcess[str]:
        """Run `argv` on a host as `ops` over ssh; 255 is ssh's own failure. Raises TimeoutExpired after `limit` seconds."""
        command = [*hosts.ssh(self.record, self.record.host(host)), "--", shlex.join(argv)]
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=limit, check=False)

    def save(self, snapshot: str) -> None:
        snapshots.save(self.record, snapshot, self.report)

    def restore(self, snapshot: str) -> None:
        snapshots.restore(self.record, snapshot, self.report)

    def down(self) -> None:
        down(self.name, report=self.report)

    def kill(self) -> None:
        down(self.name, graceful=False, report=self.report)


def up(
    name: str | None = None,
    *,
    releases: Sequence[str] = ("debian-12", "debian-12"),
    mirror: Mirror | Source | None = None,
    addresses: int = 0,
    report: Reporter = silent,
) -> Lab:
    """Bring up a lab with one host per release, named host1, host2, …; it outlives this process. Raises LabError."""
    return Lab(bring_up(name or state.default_name(), releases, mirror=mirror, addresses=addresses, report=report), report)


def find(name: str | None = None, *, report: Reporter = silent) -> Lab:
    """A lab that is up. Raises LabError when there is none of that name."""
    record = state.read(name or state.default_name())
    if record is None:
        raise LabError("lab-not-up", f"there is no lab {name or state.default_name()}", "", "gpustack lab up")
    return Lab(record, report)


def down(name: str | None = None, *, graceful: bool = True, report: Reporter = silent) -> bool:
    """Shut the hosts down (or kill them) and remove all that `up` made. False when there was nothing to do."""
    name = name or state.default_name()
    with state.locked(name):
        record = state.read(name)
        if record:
            if graceful and record.boot == state.boot_id():
                hosts.stop(record, record.hosts, report)
            leftovers.remove(record)
    leftovers.sweep(report)
    return record is not None
