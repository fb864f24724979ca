"""The state of a lab: its record in a directory of the machine, its files in the user's state directory.

Records stand in one place for the whole machine, because labs of different checkouts and users share its bridges,
subnets and sysctls. The record has everything that the start and the removal of its lab need. That place is empty after
a boot of the machine; a copy of the record stands with the lab's files.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from platformdirs import user_cache_path, user_state_path

import gpustack
from gpustack.command import Command
from gpustack.errors import LabError
from gpustack_lab.lab import locks

MOST_HOSTS = 80
EMULATION = "tcg"  # QEMU's name of it
COPY = "record.json"


@dataclass(frozen=True)
class Host:
    """Describe a host. `os` is as `debian-12`; `address` is an IPv4 address without prefix length; `model` is that of
    its simulated GPUs."""

    name: str
    os: str
    address: str
    gpus: int = 0
    model: str = ""


@dataclass(frozen=True)
class Address:
    """Describe a further address of `host`, an inventory host of its own for tests with many hosts."""

    name: str
    host: str
    address: str


@dataclass(frozen=True)
class Source:
    """Describe a mirror that hosts install from: its URL, and the fingerprint of the key it signs with (40 hex
    digits)."""

    url: str
    fingerprint: str


@dataclass(frozen=True)
class Record:
    """Describe a lab. `net` is the first three numbers of the subnet, `boot` the boot id of the machine that it was
    created in. With `internet` hosts find the official names on the bridge, answered from `source`, which the inventory
    then omits. `restoring` is the snapshot that the roots are being replaced by. `vm` is the accelerator of QEMU where
    hosts are virtual machines. `image` is the disk image that they are copies of, where that is the operator's.
    `bundle` is the directory that the mirror serves, where the lab runs one. `stopped` says that somebody powered the
    hosts off, so that a lab of which nothing runs is kept."""

    name: str
    net: str
    state: Path
    pool: Path
    boot: str
    hosts: tuple[Host, ...]
    addresses: tuple[Address, ...] = ()
    source: Source | None = None
    internet: bool = False
    restoring: str = ""
    vm: str = ""
    image: str = ""
    bundle: str = ""
    stopped: bool = False

    @property
    def readable(self) -> bool:
        """Tell whether it was read, and not built by `build_unknown`."""
        return bool(self.net)

    @property
    def emulated(self) -> bool:
        """Tell whether every instruction of its hosts is translated, which makes them 10 to 20 times slower."""
        return self.vm == EMULATION

    @property
    def mark(self) -> str:
        """Return eight hex digits that stand for the name where the kernel allows only short names."""
        return hashlib.sha256(self.name.encode()).hexdigest()[:8]

    @property
    def bridge(self) -> str:
        return f"gplab-{self.mark}"

    @property
    def machines(self) -> str:
        """Return the beginning of systemd-nspawn's names of the hosts; two digits follow."""
        return f"gp{self.mark}"

    @property
    def gateway(self) -> str:
        return f"{self.net}.1"

    @property
    def roots(self) -> Path:
        return self.pool / "labs" / self.name

    def locate_root(self, host: Host) -> Path:
        """Return the subvolume that is a host's disk, or that holds its disk image."""
        return self.roots / "hosts" / host.name

    def format_machine_name(self, host: Host) -> str:
        """Format a name of twelve characters. systemd-nspawn calls the host's link vb- and this, and cuts a name that
        is longer than 15."""
        return f"{self.machines}{self.hosts.index(host) + 1:02}"

    def format_link_name(self, host: Host) -> str:
        """Format the name of the machine's end of the host's network."""
        return f"vb-{self.format_machine_name(host)}"

    def format_group_name(self, part: str) -> str:
        """Format the name of the cgroup, or of the systemd unit, that holds all processes of a host or of the
        mirror."""
        return f"gpustack-lab-{self.name}-{part}"

    def locate_console(self, part: str) -> Path:
        return self.state / "console" / f"{part}.log"

    def select_host(self, name: str) -> Host:
        """Select a host by name. Raise LabError when the lab has no such host."""
        for host in self.hosts:
            if host.name == name:
                return host
        has = ", ".join(host.name for host in self.hosts)
        raise LabError(
            "lab-unknown-host",
            f"Lab {self.name} has no host {name!r}.",
            f"It has {has}.",
            Command("gpustack", "lab", "status"),
        )


def compute_default_name() -> str:
    """Compute the name of the lab of this checkout (or of this installed copy): two checkouts have two labs."""
    return "lab-" + hashlib.sha256(str(Path(gpustack.__file__).resolve().parents[1]).encode()).hexdigest()[:8]


def locate_state(name: str) -> Path:
    return user_state_path("gpustack") / "lab" / name


def locate_cache() -> Path:
    return user_cache_path("gpustack") / "lab"


def read_boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def write(record: Record) -> None:
    fields = asdict(record) | {"state": str(record.state), "pool": str(record.pool)}
    record.state.mkdir(parents=True, exist_ok=True)
    for path in (record.state / COPY, locks.MACHINE / f"{record.name}.json"):
        new_file = path.with_suffix(".new")
        new_file.write_text(json.dumps(fields, indent=1))
        new_file.replace(path)


def read(name: str) -> Record | None:
    """Read the record of a lab that was brought up and not yet taken down. Return None when there is none.

    A record that cannot be read, another version's for example, is that of `build_unknown`.
    """
    path = locks.MACHINE / f"{name}.json"
    try:
        fields = json.loads((path if path.exists() else locate_state(name) / COPY).read_text())
        return Record(
            name=fields["name"],
            net=fields["net"],
            state=Path(fields["state"]),
            pool=Path(fields["pool"]),
            boot=fields["boot"],
            hosts=tuple(Host(**host) for host in fields["hosts"]),
            addresses=tuple(Address(**address) for address in fields["addresses"]),
            source=Source(**fields["source"]) if fields["source"] else None,
            internet=fields.get("internet", False),
            restoring=fields.get("restoring", ""),
            vm=fields.get("vm", ""),
            image=fields.get("image", ""),
            bundle=fields.get("bundle", ""),
            stopped=fields.get("stopped", False),
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return build_unknown(name)


def build_unknown(name: str) -> Record:
    """Build the record of a lab of which only the name is known, with all hosts that it may have, so that it can be
    taken down."""
    hosts = tuple(Host(f"host{i + 1}", "", "") for i in range(MOST_HOSTS))
    return Record(name, "", locate_state(name), locate_cache() / "pool", read_boot_id(), hosts)


def read_existing(name: str | None) -> Record:
    """Read the record of the named lab, by default this checkout's. Raise LabError when it is not up or not
    readable."""
    record = read(name or compute_default_name())
    if record is None:
        up_command = Command("gpustack", "lab", "up", *(["--name", name] if name else []))
        raise LabError(
            "lab-not-up",
            f"There is no lab {name or compute_default_name()}.",
            "It was never brought up, or taken down.",
            up_command,
        )
    return require_readable(record)


def read_running(name: str | None) -> Record:
    """Read the record of a lab as `read_existing`. Raise LabError also when it was stopped."""
    record = read_existing(name)
    if record.stopped:
        start_command = Command("gpustack", "lab", "start", *(["--name", name] if name else []))
        reason = "Its hosts are powered off; their disks are kept."
        raise LabError("lab-stopped", f"Lab {record.name} is stopped.", reason, start_command)
    return record


def require_readable(record: Record) -> Record:
    """Raise LabError when nothing but the name of the lab is known."""
    if not record.readable:
        reason = f"{locks.MACHINE / record.name}.json is missing, broken, or of another version of gpustack."
        down_command = Command("gpustack", "lab", "down", "--name", record.name)
        raise LabError("lab-record-broken", f"The record of lab {record.name} cannot be read.", reason, down_command)
    return record


def list_records() -> list[Record]:
    """List all labs of this machine, of every checkout and user. Before its first lab since a boot of the machine, only
    those of this user are known."""
    names = {path.stem for path in locks.MACHINE.glob("*.json")}
    names |= {path.parent.name for path in locate_state("any").parent.glob(f"*/{COPY}")}
    return [record for record in map(read, sorted(names)) if record]


def forget(name: str) -> None:
    for suffix in ("new", "json"):
        (locks.MACHINE / f"{name}.{suffix}").unlink(missing_ok=True)
