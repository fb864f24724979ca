"""Bring a lab up."""

from dataclasses import replace

from gpustack.events import Event, Reporter
from gpustack.lab import (
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
from gpustack.lab import mirror as mirrors
from gpustack.lab.capabilities import Machine
from gpustack.lab.mirror import Mirror
from gpustack.lab.request import Request, judge, require_same
from gpustack.lab.state import Address, Record, Source
from gpustack.lab.vm import disk, qemu


def bring_up(request: Request, *, mirror: Mirror | Source | None, report: Reporter) -> Record:
    """The lab that is asked for. Of an equal one that is already up, only what is missing is started.

    Raises LabError: this machine cannot, the request is wrong, a lab of that name is up and different, a host or the
    mirror did not come up. What was made for a new lab is then removed again.
    """
    judge(request, mirrored=mirror is not None)
    machine = capabilities.require(vm=request.vm)
    leftovers.sweep(report)
    with locks.locked(request.name):
        there = leftovers.find(request.name)
        if there:
            require_same(state.legible(there), request)
            return _make(there, mirror, machine, report)
        record = _claim(request)
        try:
            return _make(record, mirror, machine, report)
        except BaseException:
            leftovers.remove(record, keep_console=True)
            raise


def _claim(request: Request) -> Record:
    """Choose a subnet and write the record, so that whatever is made from here on can be found and removed."""
    with locks.locked("machine"):
        net = network.free_net(network.used_networks(), [other.net for other in state.records()])
        made = request.hosts(net)
        record = Record(
            request.name,
            net,
            state.state_directory(request.name),
            state.cache_directory() / "pool",
            state.boot_id(),
            made,
            tuple(
                Address(f"n{i + 1:02}", made[i % len(made)].name, f"{net}.{100 + i}") for i in range(request.addresses)
            ),
            internet=request.internet,
            vm=state.EMULATION if request.vm else "",
            image=request.image,
        )
        state.write(record)
        return record


def _make(record: Record, mirror: Mirror | Source | None, machine: Machine, report: Reporter) -> Record:
    """Everything that is not there yet, in an order in which each part finds what it needs."""
    with locks.locked("machine"):
        pool.open_pool(record.pool)
        leftovers.sweep_files(record)
        sysctls.raise_limits()
        network.raise_network(record)
    if record.restoring:
        record = snapshots.put_back(record)
    identity.make_keys(record)
    if isinstance(mirror, Mirror):
        mirrors.start(record, mirror)
    if record.internet:
        official_names.certify(record)
    if record.vm:
        pool.require_room(record.pool, sum(not record.root(host).exists() for host in record.hosts))
    for host in record.hosts:
        (disk if record.vm else containers).make(record, host, report)
    if record.vm and not any(hosts.running(record, host) for host in record.hosts):
        report(Event("waiting", record.name, "tries whether its hosts run by KVM"))
        record = replace(record, vm=qemu.find_accelerator(record.root(record.hosts[0])))
    hosts.boot(record, record.hosts)
    record = replace(record, source=mirror.source(record) if isinstance(mirror, Mirror) else mirror or record.source)
    inventory.write_inventories(record, machine)
    state.write(record)
    hosts.wait_for_ssh(record, record.hosts, report)
    if isinstance(mirror, Mirror):
        mirrors.wait(record, mirror, report)
    if record.internet and record.source:
        official_names.start(record, record.source, report)
    return record
