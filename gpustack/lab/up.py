"""Bring a lab up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gpustack.errors import LabError
from gpustack.events import Event, Reporter
from gpustack.lab import capabilities, hosts, identity, inventory, leftovers, network, pool, seeds, state, sysctls
from gpustack.lab.capabilities import Machine
from gpustack.lab.releases import RELEASES
from gpustack.lab.state import Address, Host, Record, Source

MOST_HOSTS, MOST_ADDRESSES = 80, 150


@dataclass(frozen=True)
class Mirror:
    """A mirror that runs with the lab. `command` gets the address to listen on and answers the argv to run."""

    command: Callable[[str], list[str]]
    port: int
    fingerprint: str


def bring_up(
    name: str, releases: Sequence[str], *, mirror: Mirror | Source | None, addresses: int, report: Reporter
) -> Record:
    """A lab with one host per entry of `releases`. An equal lab that is already up is left as it is.

    Raises LabError: this machine cannot, a lab of that name is up and different, a host did not come up.
    """
    judge(name, releases, addresses)
    machine = capabilities.require()
    leftovers.sweep(report)
    with state.locked(name):
        there = state.read(name)
        if there:
            return _same(there, releases, addresses)
        record = _claim(name, releases, addresses)
        try:
            _make(record, mirror, machine, report)
        except BaseException:
            leftovers.remove(record, keep_console=True)
            raise
        return record


def judge(name: str, releases: Sequence[str], addresses: int) -> None:
    """Raises LabError for a name, releases or numbers that cannot be."""
    problems = [f"unknown release {release!r}" for release in releases if release not in RELEASES]
    if not name.replace("-", "").isalnum() or not name.isascii() or name != name.lower() or len(name) > 40 or name == "machine":
        problems.append(f"the name {name!r} must be lower-case letters, digits and dashes, at most 40")
    if not 1 <= len(releases) <= MOST_HOSTS:
        problems.append(f"{len(releases)} hosts; 1 to {MOST_HOSTS} are possible")
    if not 0 <= addresses <= MOST_ADDRESSES:
        problems.append(f"{addresses} addresses; 0 to {MOST_ADDRESSES} are possible")
    if problems:
        raise LabError("lab-bad-request", "such a lab cannot be", "\n".join(problems), "gpustack lab up --help")


def _same(there: Record, releases: Sequence[str], addresses: int) -> Record:
    if [host.os for host in there.hosts] != list(releases) or len(there.addresses) != addresses:
        found = ", ".join(host.os for host in there.hosts)
        raise LabError("lab-already-up", f"lab {there.name} is up with other hosts", f"it has: {found}", "gpustack lab down")
    return there


def _claim(name: str, releases: Sequence[str], addresses: int) -> Record:
    """Choose a subnet and write the record, so that whatever is made from here on can be found and removed."""
    with state.locked("machine"):
        taken = [other.net for other in state.records()]
        net = network.free_net(network.used_networks(), taken)
        made = tuple(Host(f"host{i + 1}", release, f"{net}.{11 + i}") for i, release in enumerate(releases))
        extra = tuple(
            Address(f"n{i + 1:02}", made[i % len(made)].name, f"{net}.{100 + i}") for i in range(addresses)
        )
        mount = state.cache_directory() / "pool"
        record = Record(name, net, state.state_directory(name), mount, state.boot_id(), made, extra)
        state.write(record)
        return record


def _make(record: Record, mirror: Mirror | Source | None, machine: Machine, report: Reporter) -> None:
    with state.locked("machine"):
        pool.open_pool(state.cache_directory())
        sysctls.raise_limits()
        network.remember_tables()
        network.raise_network(record)
    pool.delete_tree(record.roots)
    identity.make_keys(record)
    sources = {release: seeds.seed(release, record.pool, report) for release in {host.os for host in record.hosts}}
    for host in record.hosts:
        root = hosts.root_of(record, host)
        pool.copy(sources[host.os], root)
        identity.give_identity(record, host, root)
    hosts.boot(record, record.hosts)
    if isinstance(mirror, Mirror):
        hosts.detach(record, leftovers.MIRROR, mirror.command(record.gateway))
        record = replace(record, source=Source(f"http://{record.gateway}:{mirror.port}", mirror.fingerprint))
    elif mirror:
        record = replace(record, source=mirror)
    inventory.write_inventories(record, machine)
    hosts.wait_for_ssh(record, record.hosts, report)
    state.write(record)
