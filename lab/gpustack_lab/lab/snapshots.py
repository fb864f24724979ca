"""Save and restore the roots of all hosts of a lab at once."""

import time
from dataclasses import replace
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.events import Event, Reporter
from gpustack_lab.lab import hosts, locks, pool, state
from gpustack_lab.lab.state import Record


def save(record: Record, snapshot: str, report: Reporter) -> None:
    """Copy every root as its host sees it now, with the files that are not on disk yet (btrfs writes them out first).
    The copy of a running host is what a power cut after a sync would leave.

    An older snapshot of that name is replaced.
    """
    if not snapshot.replace("-", "").isalnum():
        reason = "Letters, digits and dashes are possible."
        raise LabError(
            "lab-bad-request",
            f"A snapshot cannot be called {snapshot!r}.",
            reason,
            Command("gpustack", "lab", "save", "--help"),
        )
    start_time = time.monotonic()
    with locks.hold_lock(record.name):
        for host in record.hosts:
            target = locate_snapshot(record, snapshot) / host.name
            if target.exists():
                pool.delete(target)
        for host in record.hosts:
            pool.copy(record.locate_root(host), locate_snapshot(record, snapshot) / host.name)
    report(Event("done", record.name, f"disks saved as {snapshot}", time.monotonic() - start_time))


def restore(record: Record, snapshot: str, report: Reporter) -> None:
    """Replace the hosts' roots by the saved ones and boot them.

    Raise LabError when there is no such snapshot; then nothing was changed.
    """
    start_time = time.monotonic()
    with locks.hold_lock(record.name):
        if not _is_complete(record, snapshot):
            snapshot_names = sorted(path.name for path in locate_snapshot(record, snapshot).parent.glob("*"))
            names = ", ".join(name for name in snapshot_names if _is_complete(record, name)) or "none"
            hint = Command("gpustack", "lab", "save", snapshot)
            raise LabError("lab-unknown-snapshot", f"There is no snapshot {snapshot!r}.", f"There are: {names}.", hint)
        record = replace_roots(replace(state.read_existing(record.name), restoring=snapshot))
        report(Event("done", record.name, f"disks are those of {snapshot}", time.monotonic() - start_time))
        hosts.boot(record, record.hosts)
        hosts.wait_for_ssh(record, record.hosts, report)


def replace_roots(record: Record) -> Record:
    """Replace every root by that of the snapshot `restoring`. The record says so until it is done, so that `up` after
    an interruption does it again and never mixes restored hosts with others."""
    state.write(record)
    hosts.kill(record, record.hosts)
    for host in record.hosts:
        root = record.locate_root(host)
        if root.exists():
            pool.delete(root)
        pool.copy(locate_snapshot(record, record.restoring) / host.name, root)
    record = replace(record, restoring="")
    state.write(record)
    return record


def _is_complete(record: Record, snapshot: str) -> bool:
    """Tell whether a snapshot has the roots of all hosts. An interrupted `save` leaves it without the last."""
    return all((locate_snapshot(record, snapshot) / host.name).exists() for host in record.hosts)


def locate_snapshot(record: Record, snapshot: str) -> Path:
    return record.roots / "snapshots" / snapshot
