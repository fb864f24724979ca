"""Save and restore the roots of all hosts of a lab at once."""

import time
from pathlib import Path

from gpustack.errors import LabError
from gpustack.events import Event, Reporter
from gpustack.lab import hosts, pool, state
from gpustack.lab.commands import run
from gpustack.lab.state import Record


def save(record: Record, snapshot: str, report: Reporter) -> None:
    """Copy every root as it is on disk now; of running hosts that is what a power cut would leave.

    An older snapshot of that name is replaced.
    """
    if not snapshot.replace("-", "").isalnum():
        why = "Letters, digits and dashes are possible."
        raise LabError("lab-bad-request", f"A snapshot cannot be called {snapshot!r}.", why, "gpustack lab save --help")
    begun = time.monotonic()
    with state.locked(record.name):
        for host in record.hosts:
            target = directory(record, snapshot) / host.name
            if target.exists():
                pool.delete(target)
        run(["btrfs", "filesystem", "sync", str(record.pool)])
        for host in record.hosts:
            pool.copy(hosts.root_of(record, host), directory(record, snapshot) / host.name)
    report(Event("done", record.name, f"disks saved as {snapshot}", time.monotonic() - begun))


def restore(record: Record, snapshot: str, report: Reporter) -> None:
    """Throw the hosts' roots away, put the saved ones in their place and boot them.

    Raises LabError when there is no such snapshot; then nothing was changed.
    """
    begun = time.monotonic()
    with state.locked(record.name):
        saved = directory(record, snapshot)
        if any(not (saved / host.name).exists() for host in record.hosts):
            names = ", ".join(sorted(path.name for path in saved.parent.glob("*"))) or "none"
            hint = f"gpustack lab save {snapshot}"
            raise LabError("lab-unknown-snapshot", f"There is no snapshot {snapshot!r}.", f"There are: {names}.", hint)
        hosts.kill(record, record.hosts)
        for host in record.hosts:
            root = hosts.root_of(record, host)
            if root.exists():
                pool.delete(root)
            pool.copy(saved / host.name, root)
        report(Event("done", record.name, f"disks are those of {snapshot}", time.monotonic() - begun))
        hosts.boot(record, record.hosts)
        hosts.wait_for_ssh(record, record.hosts, report)


def directory(record: Record, snapshot: str) -> Path:
    return record.roots / "snapshots" / snapshot
