"""Remove a lab completely, whatever state it is in, and recognise labs whose processes are gone."""

import shutil

from gpustack.events import Event, Reporter
from gpustack_lab.lab import background, hosts, locks, mirror, network, official_names, pool, state, sysctls
from gpustack_lab.lab.state import Record


def is_dead(record: Record) -> bool:
    """Tell whether nothing of the lab runs, and nobody stopped it: it crashed, was killed or powered off, or the
    machine was booted since."""
    parts = [*(host.name for host in record.hosts), mirror.PART, official_names.PART]
    return not record.stopped and (
        record.boot != state.read_boot_id() or not any(background.is_running(record, part) for part in parts)
    )


def end_processes(record: Record) -> None:
    """Kill the hosts and servers of a lab. It is safe to repeat."""
    hosts.kill(record, record.hosts)
    for part in (mirror.PART, official_names.PART):
        background.end(record, part)


def remove(record: Record, *, keep_console: bool = False) -> None:
    """Kill the processes of the lab and remove all its parts. It is safe to repeat, and to continue after an
    interruption.

    The caller holds the lab's lock; the machine's lock is taken. The record goes last: an interrupted removal is found
    and finished.
    """
    end_processes(record)
    with locks.hold_lock("machine"):
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
        restore_machine(record)
        state.forget(record.name)


def restore_machine(record: Record) -> None:
    """Undo what the machine has for running labs, unless it has others than this one. The caller holds its lock."""
    running_records = [lab for lab in state.list_records() if lab.name != record.name and not lab.stopped]
    if all(lab.pool != record.pool for lab in running_records):
        pool.close_pool(record.pool)
    if not running_records:
        sysctls.restore()
        network.forget_tables()
        locks.tidy()


def find(name: str) -> Record | None:
    """Find the record of a lab. It is that of `build_unknown` where only rules on this machine name the lab, and None
    where nothing does."""
    return state.read(name) or (state.build_unknown(name) if name in network.list_lab_names() else None)


def remove_dead_labs(report: Reporter) -> None:
    """Remove all labs of this machine whose processes are gone and whose lock is free."""
    known_records = state.list_records()
    orphan_names = network.list_lab_names() - {record.name for record in known_records}
    for record in (*known_records, *map(state.build_unknown, sorted(orphan_names))):
        if not is_dead(record):
            continue
        with locks.hold_lock(record.name, wait=False) as is_locked:
            current_record = find(record.name) if is_locked else None
            if current_record and is_dead(current_record):
                report(Event("note", record.name, "its processes are gone; what they left is removed"))
                remove(current_record)


def remove_orphan_files(record: Record) -> None:
    """Remove roots and files of labs without a record, beside those of `record`: the machine was booted since.

    The caller holds the machine's lock, with the pool open.
    """
    known_names = {known_record.name for known_record in state.list_records()}
    for path in (record.pool / "labs").iterdir():
        if path.name not in known_names:
            pool.delete_tree(path)
    for path in record.state.parent.glob("*"):
        if path.name not in known_names:
            shutil.rmtree(path)
