"""The cgroup of one lab host: enter it, list its processes, kill them, remove it.

Three kinds of machine. Managed by systemd: the host is a service unit with a delegated cgroup, on v1 and v2.
Without a systemd and with v1 controllers: one directory in every mounted hierarchy. Without a systemd and with v2: one
directory below the root. On v2 only the innermost groups may hold processes (https://systemd.io/CGROUP_DELEGATION),
so the runner sits in `runner` and systemd-nspawn in `host`, beside each other.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.lab.commands import attempt

ROOT = Path("/sys/fs/cgroup")
MOMENT = 5.0


def systemd_manages() -> bool:
    return Path("/run/systemd/system").is_dir()


def version(mounts: str | None = None) -> int:
    """1 when any controller is bound to a v1 hierarchy, else 2. Takes the text of /proc/mounts."""
    return 1 if any(kind == "cgroup" for _, kind in _mounted(mounts)) else 2


def directories(group: str, mounts: str | None = None) -> list[Path]:
    """Where the group is, or would be, in each mounted hierarchy."""
    if systemd_manages():
        unit = ["systemctl", "show", "--property=ControlGroup", "--value", f"{group}.service"]
        at = attempt(unit).stdout.strip().lstrip("/")
        return [path / at for path, _ in _mounted(mounts)] if at else []
    return [path / group for path, _ in _mounted(mounts)]


def enter(group: str) -> Path | None:
    """Move the calling process into the group. On v2 gives the directory that its child has to join."""
    if not systemd_manages():
        for directory in directories(group):
            join(directory)
    if version() == 1:
        return None
    (top,) = directories(group)
    if not systemd_manages():
        _enable(top.parent)
    join(top / "runner")
    _enable(top)
    return top / "host"


def join(directory: Path) -> None:
    """Move the calling process into one directory, which is made if need be."""
    directory.mkdir(exist_ok=True)
    _inherit_cpuset(directory)
    (directory / "cgroup.procs").write_text(str(os.getpid()))


def processes(group: str) -> list[int]:
    """Ids of all processes in the group and below it, in any hierarchy; empty when it does not exist."""
    found: set[int] = set()
    for directory in directories(group):
        for below in _tree(directory):
            try:
                found.update(int(pid) for pid in (below / "cgroup.procs").read_text().split())
            except OSError:
                continue  # removed while it was read
    return sorted(found - {0})


def kill(*groups: str, limit: float = 20.0) -> None:
    """SIGKILL everything in the groups until nothing is left. Raises LabError after `limit` seconds."""
    deadline = time.monotonic() + limit
    while left := [pid for group in groups for pid in processes(group)]:
        thaw(*groups)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if time.monotonic() > deadline:
            pids = [str(pid) for pid in left]
            why = "A process in an uninterruptible system call cannot be killed."
            raise LabError(
                "lab-process-stays",
                f"Processes of {', '.join(groups)} do not end: {' '.join(pids)}.",
                why,
                Command("ps", "-o", "pid,stat,wchan,cmd", *pids),
            )
        time.sleep(0.02)


def thaw(*groups: str) -> None:
    """Lets everything in the groups run again that is frozen. On v1 runc freezes a container while it writes its list
    of devices; one that was ended meanwhile leaves it so, and what is frozen there no signal ends."""
    for top in (top for group in groups for top in directories(group)):
        for state in (below / "freezer.state" for below in _tree(top)):
            try:
                if state.read_text().strip() != "THAWED":
                    state.write_text("THAWED")
            except OSError:
                continue  # of another hierarchy, or removed while it was read


@contextmanager
def thawing(*groups: str) -> Iterator[None]:
    """Thaws meanwhile what stays frozen: runc itself needs a moment for what it does to a frozen container."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(MOMENT):
            thaw(*groups)

    beside = threading.Thread(target=look, daemon=True)
    beside.start()
    try:
        yield
    finally:
        over.set()
        beside.join()


def remove(group: str) -> None:
    """Remove the group, innermost first. Raises LabError when it stays busy."""
    if systemd_manages():
        attempt(["systemctl", "reset-failed", f"{group}.service"])
        return
    for top in directories(group):
        _remove_all(top)


def empty(group: str) -> None:
    """Remove what a host that reboots has left below its group, so that its next start finds it as new."""
    for top in directories(group):
        _remove_all(top, keep=(top, top / "runner"))


def _remove_all(top: Path, keep: tuple[Path, ...] = (), *, limit: float = 5.0) -> None:
    """Remove until only `keep` is left: a group is busy for a moment after its last process ended."""
    deadline = time.monotonic() + limit
    while paths := [path for path in _tree(top) if path not in keep]:
        for path in paths:
            try:
                path.rmdir()
            except OSError:
                continue
        if time.monotonic() > deadline:
            why = "Something runs in it."
            raise LabError(
                "lab-cgroup-stays", f"{paths[-1]} cannot be removed.", why, Command("cat", f"{paths[-1]}/cgroup.procs")
            )
        time.sleep(0.02)


def _inherit_cpuset(directory: Path) -> None:
    """A new v1 cpuset has no CPUs, and takes no process until it has."""
    if (directory / "cgroup.clone_children").exists() and (directory / "cpuset.mems").exists():
        for file in ("cpuset.cpus", "cpuset.mems"):
            (directory / file).write_text((directory.parent / file).read_text())
        (directory / "cgroup.clone_children").write_text("1")


def _enable(directory: Path) -> None:
    """Hand every v2 controller that the group has on to the groups below it."""
    for controller in (directory / "cgroup.controllers").read_text().split():
        (directory / "cgroup.subtree_control").write_text(f"+{controller}")


def _tree(top: Path) -> list[Path]:
    """The directory and all below it, innermost first. What vanishes meanwhile is left out, as os.walk does."""
    return [Path(at) for at, _, _ in os.walk(top, topdown=False)]


def _mounted(mounts: str | None) -> list[tuple[Path, str]]:
    text = Path("/proc/mounts").read_text() if mounts is None else mounts
    fields = [line.split() for line in text.splitlines()]
    return [
        (Path(at), kind)
        for _, at, kind, *_ in fields
        if kind in ("cgroup", "cgroup2") and Path(at).is_relative_to(ROOT)
    ]
