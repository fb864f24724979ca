"""Bring a lab up."""

from collections.abc import Sequence
from dataclasses import replace

from gpustack.errors import LabError
from gpustack.events import Reporter
from gpustack.lab import (
    capabilities,
    hosts,
    identity,
    inventory,
    leftovers,
    locks,
    network,
    official_names,
    pool,
    seeds,
    snapshots,
    state,
    sysctls,
)
from gpustack.lab import mirror as mirrors
from gpustack.lab.capabilities import Machine
from gpustack.lab.mirror import Mirror
from gpustack.lab.releases import RELEASES
from gpustack.lab.state import MOST_HOSTS, Address, Host, Record, Source
from gpustack.simulated import hardware

MOST_ADDRESSES = 150


def bring_up(
    name: str,
    releases: Sequence[str],
    *,
    mirror: Mirror | Source | None,
    addresses: int,
    internet: bool = False,
    gpus: str = "",
    model: str = "",
    report: Reporter,
) -> Record:
    """A lab with one host per entry of `releases`. Of an equal lab that is already up, only what is missing is started.

    Raises LabError: this machine cannot, the request is wrong, a lab of that name is up and different, a host or the
    mirror did not come up. What was made for a new lab is then removed again. `gpus` and `model`: as hardware.fleet.
    """
    judge(name, releases, addresses, unanswered=internet and mirror is None)
    fitted = hardware.fleet([f"host{i + 1}" for i in range(len(releases))], gpus, model)
    machine = capabilities.require()
    leftovers.sweep(report)
    with locks.locked(name):
        there = leftovers.find(name)
        if there:
            _same(state.legible(there), releases, addresses, fitted, internet=internet)
            return _make(there, mirror, machine, report)
        record = _claim(name, releases, addresses, fitted, internet=internet)
        try:
            return _make(record, mirror, machine, report)
        except BaseException:
            leftovers.remove(record, keep_console=True)
            raise


def judge(name: str, releases: Sequence[str], addresses: int, *, unanswered: bool = False) -> None:
    """Raises LabError with all that is wrong in a request."""
    known = ", ".join(RELEASES)
    wrong = [f"release {one!r}: there is {known}" for one in dict.fromkeys(releases) if one not in RELEASES]
    plain = name.replace("-", "").isalnum() and name.isascii() and name == name.lower()
    if not plain or len(name) > 40 or name == "machine" or name.startswith(("-", "seed-")):
        wrong.append(f"name {name!r}: lower-case letters, digits and dashes, at most 40; not machine, not seed-…")
    if not 1 <= len(releases) <= MOST_HOSTS:
        wrong.append(f"{len(releases)} hosts: 1 to {MOST_HOSTS} are possible")
    if not 0 <= addresses <= MOST_ADDRESSES:
        wrong.append(f"{addresses} addresses: 0 to {MOST_ADDRESSES} are possible")
    if unanswered:
        wrong.append("an internet without a mirror: nothing could be answered")
    if wrong:
        raise LabError("lab-bad-request", "There can be no such lab.", "\n".join(wrong), "gpustack lab up --help")


Fitted = dict[str, tuple[int, str]]


def _same(there: Record, releases: Sequence[str], addresses: int, fitted: Fitted, *, internet: bool) -> None:
    found, has = [host.os for host in there.hosts], {host.name: (host.gpus, host.model) for host in there.hosts}
    if (found, len(there.addresses), there.internet, has) != (list(releases), addresses, internet, fitted):
        names = ", and the official names on its bridge" if there.internet else ""
        gpus = "".join(f", {host.name} with {host.gpus} GPUs {host.model}" for host in there.hosts if host.gpus)
        why = f"It has {', '.join(found)} and {len(there.addresses)} further addresses{names}{gpus}."
        down = f"gpustack lab down --name {there.name}"
        raise LabError("lab-already-up", f"Lab {there.name} is up with other hosts.", why, down)


def _claim(name: str, releases: Sequence[str], addresses: int, fitted: Fitted, *, internet: bool) -> Record:
    """Choose a subnet and write the record, so that whatever is made from here on can be found and removed."""
    with locks.locked("machine"):
        net = network.free_net(network.used_networks(), [other.net for other in state.records()])
        made = tuple(
            Host(name_, release, f"{net}.{11 + i}", *fitted[name_])
            for i, (name_, release) in enumerate(zip(fitted, releases, strict=True))
        )
        extra = tuple(Address(f"n{i + 1:02}", made[i % len(made)].name, f"{net}.{100 + i}") for i in range(addresses))
        mount = state.cache_directory() / "pool"
        record = Record(name, net, state.state_directory(name), mount, state.boot_id(), made, extra, internet=internet)
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
    for host in record.hosts:
        root = record.root(host)
        if not root.exists():
            pool.copy(seeds.seed(host.os, record.pool, report), root)
        if not hosts.running(record, host):
            identity.give_identity(record, host, root)
            hardware.fit(root, record.name, host.name, host.gpus, host.model)
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
