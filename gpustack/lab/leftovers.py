"""Remove a lab completely, whatever state it is in, and recognise labs whose processes are gone."""

import shutil
from pathlib import Path

from gpustack.events import Event, Reporter
from gpustack.lab import cgroups, hosts, network, pool, state, sysctls
from gpustack.lab.state import Record

MIRROR = "mirror"


def parts(record: Record) -> list[str]:
    return [*(host.name for host in record.hosts), MIRROR]


def dead(record: Record) -> bool:
    """Whether no process of the lab runs: it crashed, was killed, all hosts powered off, or the machine was booted anew."""
    return record.boot != state.boot_id() or not any(cgroups.processes(record.group(part)) for part in parts(record))


def remove(record: Record, *, keep_console: bool = False) -> None:
    """Kill what is left of the lab and remove all it made. Safe to repeat, and to continue after an interruption.

    Hold the lab's lock; takes the machine's. The record goes last: an interrupted removal is found and finished.
    """
    hosts.kill(record, record.hosts)
    cgroups.kill(record.group(MIRROR))
    cgroups.remove(record.group(MIRROR))
    with state.locked("machine"):
        network.drop_network(record)
        pool.delete_tree(record.roots)
        for path in record.state.glob("*"):
            if path.name != "console" or not keep_console:
                _discard(path)
        if not keep_console:
            shutil.rmtree(record.state, ignore_errors=True)
        others = [other for other in state.records() if other.name != record.name]
        if not [other for other in others if other.pool == record.pool]:
            pool.close_pool(record.pool)
        if not others:
            sysctls.restore()
            network.forget_tables()
        state.forget(record.name)


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def sweep(report: Reporter) -> None:
    """Remove all labs of this machine whose processes are gone and that nobody is working on."""
    for record in state.records():
        if not dead(record):
            continue
        with state.locked(record.name, wait=False) as mine:
            current = state.read(record.name) if mine else None
            if current and dead(current):
                report(Event("note", record.name, "its processes are gone; removing what they left"))
                remove(current)
