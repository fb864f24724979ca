"""Remove a lab completely, whatever state it is in, and recognise labs whose processes are gone."""

import shutil

from gpustack.events import Event, Reporter
from gpustack.lab import detached, hosts, locks, mirror, network, official_names, pool, state, sysctls
from gpustack.lab.state import Record


def dead(record: Record) -> bool:
    """Whether nothing of the lab runs: it crashed, was killed or powered off, or the machine was booted since."""
    parts = [*(host.name for host in record.hosts), mirror.PART, official_names.PART]
    return record.boot != state.boot_id() or not any(detached.running(record, part) for part in parts)


def remove(record: Record, *, keep_console: bool = False) -> None:
    """Kill what is left of the lab and remove all it made. Safe to repeat, and to continue after an interruption.

    Hold the lab's lock; takes the machine's. The record goes last: an interrupted removal is found and finished.
    """
    hosts.kill(record, record.hosts)
    for part in (mirror.PART, official_names.PART):
        detached.end(record, part)
    with locks.locked("machine"):
        network.drop_network(record)
        if record.pool.with_suffix(".btrfs").exists():
            pool.open_pool(record.pool)
            pool.delete_tree(record.roots)
        for path in record.state.glob("*"):
            if path.is_file():
                path.unlink()
            elif path.name != "console" or not keep_console:
                shutil.rmtree(path)
        if record.state.is_dir() and not keep_console:
            record.state.rmdir()
        others = [other for other in state.records() if other.name != record.name]
        if all(other.pool != record.pool for other in others):
            pool.close_pool(record.pool)
        if not others:
            sysctls.restore()
            network.forget_tables()
            locks.tidy()
        state.forget(record.name)


def find(name: str) -> Record | None:
    """The record of a lab, `unknown` where only rules on this machine speak of it, None where nothing does."""
    return state.read(name) or (state.unknown(name) if name in network.names() else None)


def sweep(report: Reporter) -> None:
    """Remove all labs of this machine whose processes are gone and that nobody is working on."""
    known = state.records()
    lost = network.names() - {record.name for record in known}
    for record in (*known, *map(state.unknown, sorted(lost))):
        if not dead(record):
            continue
        with locks.locked(record.name, wait=False) as mine:
            current = find(record.name) if mine else None
            if current and dead(current):
                report(Event("note", record.name, "its processes are gone; what they left is removed"))
                remove(current)


def sweep_files(record: Record) -> None:
    """Remove roots and files of labs without a record, beside those of `record`: the machine was booted since.

    Hold the machine's lock, with the pool open.
    """
    known = {other.name for other in state.records()}
    for path in (record.pool / "labs").iterdir():
        if path.name not in known:
            pool.delete_tree(path)
    for path in record.state.parent.glob("*"):
        if path.name not in known:
            shutil.rmtree(path)
