"""Save and restore the roots of all hosts of a lab at once."""

import time
from dataclasses import replace
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.events import Event, Reporter
from gpustack.lab import hosts, locks, pool, state
from gpustack.lab.state import Record


def save(record: Record, snapshot: str, report: Reporter) -> None:
    """Copy every root as its host sees it now, files that are not on disk yet included (btrfs writes them out first);
    of running hosts that is what a power cut after a sync would leave.

    An older snapshot of that name is replaced.
    """
    if not snapshot.replace("-", "").isalnum():
        why = "Letters, digits and dashes are possible."
        raise LabError(
            "lab-bad-request",
            f"A snapshot cannot be called {snapshot!r}.",
            why,
            Command("gpustack", "lab", "save", "--help"),
        )
    begun = time.monotonic()
    with locks.locked(record.name):
        for host in record.hosts:
            target = directory(record, snapshot) / host.name
            if target.exists():
                pool.delete(target)
        for host in record.hosts:
            pool.copy(record.root(host), directory(record, snapshot) / host.name)
    report(Event("done", record.name, f"disks saved as {snapshot}", time.monotonic() - begun))


def restore(record: Record, snapshot: str, report: Reporter) -> None:
    """Throw the hosts' roots away, put the saved ones in their place and boot them.

    Raises LabError when there is no such snapshot; then nothing was changed.
    """
    begun = time.monotonic()
    with locks.locked(record.name):
        if not _complete(record, snapshot):
            found = sorted(path.name for path in directory(record, snapshot).parent.glob("*"))
            names = ", ".join(name for name in found if _complete(record, name)) or "none"
            hint = Command("gpustack", "lab", "save", snapshot)
            raise LabError("lab-unknown-snapshot", f"There is no snapshot {snapshot!r}.", f"There are: {names}.", hint)
        record = put_back(replace(state.existing(record.name), restoring=snapshot))
        report(Event("done", record.name, f"disks are those of {snapshot}", time.monotonic() - begun))
        hosts.boot(record, record.hosts)
        hosts.wait_for_ssh(record, record.hosts, report)


def put_back(record: Record) -> Record:
    """Replace every root by that of the snapshot `restoring`. The record says so until it is done, so that `up` after
    an interruption does it again and never mixes restored hosts with others."""
    state.write(record)
    hosts.kill(record, record.hosts)
    for host in record.hosts:
        root = record.root(host)
        if root.exists():
            pool.delete(root)
        pool.copy(directory(record, record.restoring) / host.name, root)
    record = replace(record, restoring="")
    state.write(record)
    return record


def _complete(record: Record, snapshot: str) -> bool:
    """Whether it has the roots of all hosts; a `save` that was interrupted leaves it without the last."""
    return all((directory(record, snapshot) / host.name).exists() for host in record.hosts)


def directory(record: Record, snapshot: str) -> Path:
    return record.roots / "snapshots" / snapshot
