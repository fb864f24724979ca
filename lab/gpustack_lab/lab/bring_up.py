"""Bring a lab up."""

from dataclasses import replace

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.events import Event, Reporter
from gpustack_lab.lab import (
    capabilities,
    containers,
    hosts,
    identity,
    inventory,
    leftovers,
    locks,
    network,
    official_names,
    pool,
    snapshots,
    state,
    sysctls,
)
from gpustack_lab.lab import mirror as mirrors
from gpustack_lab.lab.capabilities import Machine
from gpustack_lab.lab.mirror import Mirror
from gpustack_lab.lab.request import Request, judge_request, require_same
from gpustack_lab.lab.state import Address, Record, Source
from gpustack_lab.lab.vm import disk, qemu


def bring_up(request: Request, *, mirror: Mirror | Source | None, report: Reporter) -> Record:
    """Bring up the lab of a request. Of an equal one that is already up, only missing parts are started.

    Raise LabError where this machine cannot have a lab, the request is wrong, a lab of that name is up and different,
    or a host or the mirror did not come up. A new lab that failed is removed again.
    """
    judge_request(request, mirrored=mirror is not None)
    machine = capabilities.require(vm=request.vm)
    leftovers.remove_dead_labs(report)
    with locks.hold_lock(request.name):
        existing_record = leftovers.find(request.name)
        if existing_record:
            require_same(state.require_readable(existing_record), request)
            return _make(existing_record, mirror, machine, report)
        record = _create_record(request)
        try:
            return _make(record, mirror, machine, report)
        except BaseException:
            leftovers.remove(record, keep_console=True)
            raise


def start(name: str | None, *, mirror: Mirror | Source | None, report: Reporter) -> Record:
    """Boot the hosts of a lab that was stopped or lost power, with the options in its record. What runs goes on.

    Raise LabError where there is no such lab, its subnet is used by another one, or a host or the mirror did not come
    up.
    """
    record = state.read_existing(name)
    machine = capabilities.require(vm=bool(record.vm))
    with locks.hold_lock(record.name):
        record = state.read_existing(record.name)
        for other_record in state.list_records():
            if other_record.net == record.net and other_record.name != record.name:
                message = f"The subnet {record.net}.0/24 of lab {record.name} is that of lab {other_record.name}."
                down_command = Command("gpustack", "lab", "down", "--name", record.name)
                raise LabError("lab-no-free-subnet", message, "Its hosts cannot have other addresses.", down_command)
        return _make(record, mirror, machine, report)


def _create_record(request: Request) -> Record:
    """Choose a subnet and write the record, so that everything created later can be found and removed."""
    with locks.hold_lock("machine"):
        lab_nets = [other_record.net for other_record in state.list_records()]
        net = network.find_free_net(network.list_used_networks(), lab_nets)
        hosts = request.build_hosts(net)
        record = Record(
            request.name,
            net,
            state.locate_state(request.name),
            state.locate_cache() / "pool",
            state.read_boot_id(),
            hosts,
            tuple(
                Address(f"n{i + 1:02}", hosts[i % len(hosts)].name, f"{net}.{100 + i}")
                for i in range(request.addresses)
            ),
            internet=request.internet,
            vm=state.EMULATION if request.vm else "",
            image=request.image,
        )
        state.write(record)
        return record


def _make(record: Record, mirror: Mirror | Source | None, machine: Machine, report: Reporter) -> Record:
    """Create the missing parts of a lab, in an order in which each part finds what it needs."""
    record = replace(record, boot=state.read_boot_id(), stopped=False)
    with locks.hold_lock("machine"):
        pool.open_pool(record.pool)
        leftovers.remove_orphan_files(record)
        sysctls.raise_limits()
        network.raise_network(record)
    if record.restoring:
        record = snapshots.replace_roots(record)
    identity.make_keys(record)
    if isinstance(mirror, Mirror):
        mirrors.start(record, mirror)
    if record.internet:
        official_names.create_certificates(record)
    if record.vm:
        pool.require_room(record.pool, sum(not record.locate_root(host).exists() for host in record.hosts))
    for host in record.hosts:
        (disk if record.vm else containers).make(record, host, report)
    if record.vm and not any(hosts.is_running(record, host) for host in record.hosts):
        report(Event("waiting", record.name, "tries whether its hosts run by KVM"))
        record = replace(record, vm=qemu.find_accelerator(record.locate_root(record.hosts[0])))
    hosts.boot(record, record.hosts)
    record = _record_mirror(record, mirror)
    inventory.write_inventories(record, machine)
    state.write(record)
    hosts.wait_for_ssh(record, record.hosts, report)
    if isinstance(mirror, Mirror):
        mirrors.wait(record, mirror, report)
    if record.internet and record.source:
        official_names.start(record, record.source, report)
    return record


def _record_mirror(record: Record, mirror: Mirror | Source | None) -> Record:
    """Note in the record where hosts install from. Without a mirror that stays what it was."""
    if isinstance(mirror, Mirror):
        return replace(record, source=mirror.build_source(record), bundle=mirror.bundle)
    return replace(record, source=mirror, bundle="") if mirror else record
