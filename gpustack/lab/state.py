"""What is known of a lab: its record in a directory of the machine, its files in the user's state directory.

Records stand in one place for the whole machine, because labs of different checkouts and users share its bridges,
subnets and sysctls. Everything needed to remove a lab is in its record.
"""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from platformdirs import user_cache_path, user_state_path

import gpustack
from gpustack.errors import LabError

MACHINE = Path("/run/gpustack-lab")
LOCK_LIMIT = 900.0


@dataclass(frozen=True)
class Host:
    """`os` is as `debian-12`; `address` an IPv4 address without prefix length."""

    name: str
    os: str
    address: str


@dataclass(frozen=True)
class Address:
    """A further address of `host`, an inventory host of its own for tests with many hosts."""

    name: str
    host: str
    address: str


@dataclass(frozen=True)
class Source:
    """A mirror that hosts install from: its URL, and the fingerprint of the key it signs with (40 hex digits)."""

    url: str
    fingerprint: str


@dataclass(frozen=True)
class Record:
    """`net` is the first three numbers of the subnet, `boot` the boot id of the machine that the lab was made in.
    `internet`: hosts find the official names on the bridge, answered from `source`, which the inventory then omits."""

    name: str
    net: str
    state: Path
    pool: Path
    boot: str
    hosts: tuple[Host, ...]
    addresses: tuple[Address, ...] = ()
    source: Source | None = None
    internet: bool = False

    @property
    def mark(self) -> str:
        """Eight hex digits that stand for the name where the kernel allows only short names."""
        return hashlib.sha256(self.name.encode()).hexdigest()[:8]

    @property
    def bridge(self) -> str:
        return f"gplab-{self.mark}"

    @property
    def machines(self) -> str:
        """How systemd-nspawn's names of the hosts begin; two digits follow."""
        return f"gp{self.mark}"

    @property
    def gateway(self) -> str:
        return f"{self.net}.1"

    @property
    def roots(self) -> Path:
        return self.pool / "labs" / self.name

    def group(self, part: str) -> str:
        """Name of the cgroup, or of the systemd unit, that holds all processes of a host or of the mirror."""
        return f"gpustack-lab-{self.name}-{part}"

    def console(self, part: str) -> Path:
        return self.state / "console" / f"{part}.log"

    def host(self, name: str) -> Host:
        """Raises LabError when the lab has no such host."""
        for host in self.hosts:
            if host.name == name:
                return host
        has = ", ".join(host.name for host in self.hosts)
        raise LabError(
            "lab-unknown-host", f"Lab {self.name} has no host {name!r}.", f"It has {has}.", "gpustack lab status"
        )


def default_name() -> str:
    """The lab of this checkout (or of this installed copy): two checkouts have two labs."""
    return "lab-" + hashlib.sha256(str(Path(gpustack.__file__).resolve().parents[1]).encode()).hexdigest()[:8]


def state_directory(name: str) -> Path:
    return user_state_path("gpustack") / "lab" / name


def cache_directory() -> Path:
    return user_cache_path("gpustack") / "lab"


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def write(record: Record) -> None:
    fields = asdict(record) | {"state": str(record.state), "pool": str(record.pool)}
    fresh = MACHINE / f"{record.name}.new"
    fresh.write_text(json.dumps(fields, indent=1))
    fresh.replace(MACHINE / f"{record.name}.json")


def read(name: str) -> Record | None:
    """The record of a lab that was brought up and not yet taken down; None when there is none."""
    try:
        fields = json.loads((MACHINE / f"{name}.json").read_text())
    except FileNotFoundError:
        return None
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
    )


def existing(name: str | None) -> Record:
    """The record of the named lab, by default this checkout's. Raises LabError when it is not up."""
    record = read(name or default_name())
    if record is None:
        up = "gpustack lab up" + (f" --name {name}" if name else "")
        raise LabError(
            "lab-not-up", f"There is no lab {name or default_name()}.", "It was never brought up, or taken down.", up
        )
    return record


def records() -> list[Record]:
    """All labs of this machine, of every checkout and user."""
    found = (read(path.stem) for path in sorted(MACHINE.glob("*.json")))
    return [record for record in found if record]


def forget(name: str) -> None:
    (MACHINE / f"{name}.json").unlink(missing_ok=True)


@contextmanager
def locked(what: str, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a lab (its name) or of the `machine`. Without `wait` gives False when somebody else holds it.

    It ends with its holder's process. Raises LabError after 15 minutes of waiting.
    """
    MACHINE.mkdir(mode=0o755, parents=True, exist_ok=True)
    path = MACHINE / f"{what}.lock"
    deadline = time.monotonic() + (LOCK_LIMIT if wait else 0.0)
    while (file := _taken(path)) is None:
        if not wait:
            yield False
            return
        if time.monotonic() > deadline:
            why = f"Waited {LOCK_LIMIT / 60:.0f} minutes."
            raise LabError("lab-busy", f"Another gpustack process works on {what}.", why, f"fuser -v {path}")
        time.sleep(0.1)
    try:
        yield True
    finally:
        path.unlink(missing_ok=True)
        os.close(file)


def drop_locks() -> None:
    """Remove the files of locks whose holders were killed."""
    for path in MACHINE.glob("*.lock"):
        with locked(path.stem, wait=False):
            pass


def _taken(path: Path) -> int | None:
    """The locked file, or None while another process has it (also when that one has just removed the file)."""
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(file).st_ino:
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(file)
    return None
