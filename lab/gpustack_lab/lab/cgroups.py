"""The cgroup of one lab host: enter it, list its processes, kill them, remove it.

There are three kinds of machine. Where systemd manages it, the host is a service unit with a delegated cgroup, on v1
and v2. Without systemd and with v1 controllers, it has one directory in every mounted hierarchy; with v2, it has one
directory below the root. On v2 only the innermost groups may hold processes (https://systemd.io/CGROUP_DELEGATION), so
the runner sits in `runner` and systemd-nspawn in `host`, beside each other.
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
from gpustack_lab.lab.commands import try_run

ROOT = Path("/sys/fs/cgroup")
THAW_INTERVAL = 5.0


def has_systemd() -> bool:
    return Path("/run/systemd/system").is_dir()


def detect_version(mounts: str | None = None) -> int:
    """Detect the version from the text of /proc/mounts: 1 when any controller is bound to a v1 hierarchy, else 2."""
    return 1 if any(kind == "cgroup" for _, kind in _list_mounts(mounts)) else 2


def list_directories(group: str, mounts: str | None = None) -> list[Path]:
    """List the directory of the group in each mounted hierarchy, whether or not it exists."""
    if has_systemd():
        unit = ["systemctl", "show", "--property=ControlGroup", "--value", f"{group}.service"]
        subpath = try_run(unit).stdout.strip().lstrip("/")
        return [path / subpath for path, _ in _list_mounts(mounts)] if subpath else []
    return [path / group for path, _ in _list_mounts(mounts)]


def enter(group: str) -> Path | None:
    """Move the calling process into the group. On v2 return the directory that its child has to join."""
    if not has_systemd():
        for directory in list_directories(group):
            join(directory)
    if detect_version() == 1:
        return None
    (top,) = list_directories(group)
    if not has_systemd():
        _enable(top.parent)
    join(top / "runner")
    _enable(top)
    return top / "host"


def join(directory: Path) -> None:
    """Move the calling process into one directory, and create that if need be."""
    directory.mkdir(exist_ok=True)
    _inherit_cpuset(directory)
    (directory / "cgroup.procs").write_text(str(os.getpid()))


def list_processes(group: str) -> list[int]:
    """List the ids of all processes in the group and below it, in any hierarchy. A missing group has none."""
    pids: set[int] = set()
    for directory in list_directories(group):
        for child in _list_tree(directory):
            try:
                pids.update(int(pid) for pid in (child / "cgroup.procs").read_text().split())
            except OSError:
                continue  # removed while it was read
    return sorted(pids - {0})


def kill(*groups: str, limit: float = 20.0) -> None:
    """Send SIGKILL to everything in the groups until nothing is left. Raise LabError after `limit` seconds."""
    deadline = time.monotonic() + limit
    while remaining_pids := [pid for group in groups for pid in list_processes(group)]:
        thaw(*groups)
        for pid in remaining_pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if time.monotonic() > deadline:
            pids = [str(pid) for pid in remaining_pids]
            reason = "A process in an uninterruptible system call cannot be killed."
            raise LabError(
                "lab-process-stays",
                f"Processes of {', '.join(groups)} do not end: {' '.join(pids)}.",
                reason,
                Command("ps", "-o", "pid,stat,wchan,cmd", *pids),
            )
        time.sleep(0.02)


def thaw(*groups: str) -> None:
    """Thaw all frozen processes in the groups. On v1 runc freezes a container while it writes its list of devices; one
    that was ended meanwhile leaves it so, and no signal ends a frozen process."""
    for top in (top for group in groups for top in list_directories(group)):
        for state in (child / "freezer.state" for child in _list_tree(top)):
            try:
                if state.read_text().strip() != "THAWED":
                    state.write_text("THAWED")
            except OSError:
                continue  # of another hierarchy, or removed while it was read


@contextmanager
def keep_thawed(*groups: str) -> Iterator[None]:
    """Thaw meanwhile the processes that stay frozen. runc itself needs a moment for its work on a frozen container."""
    end_event = threading.Event()

    def thaw_repeatedly() -> None:
        while not end_event.wait(THAW_INTERVAL):
            thaw(*groups)

    thread = threading.Thread(target=thaw_repeatedly, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end_event.set()
        thread.join()


def remove(group: str) -> None:
    """Remove the group, innermost first. Raise LabError when it stays busy."""
    if has_systemd():
        try_run(["systemctl", "reset-failed", f"{group}.service"])
        return
    for top in list_directories(group):
        _remove_all(top)


def empty(group: str) -> None:
    """Remove the groups that a rebooting host has left below its own, so that its next start finds it as new."""
    for top in list_directories(group):
        _remove_all(top, keep=(top, top / "runner"))


def _remove_all(top: Path, keep: tuple[Path, ...] = (), *, limit: float = 5.0) -> None:
    """Remove groups until only `keep` is left: a group is busy for a moment after its last process ended."""
    deadline = time.monotonic() + limit
    while paths := [path for path in _list_tree(top) if path not in keep]:
        for path in paths:
            try:
                path.rmdir()
            except OSError:
                continue
        if time.monotonic() > deadline:
            reason = "Something runs in it."
            raise LabError(
                "lab-cgroup-stays",
                f"{paths[-1]} cannot be removed.",
                reason,
                Command("cat", f"{paths[-1]}/cgroup.procs"),
            )
        time.sleep(0.02)


def _inherit_cpuset(directory: Path) -> None:
    """Copy the CPUs of the parent. A new v1 cpuset has none, and takes no process until it has."""
    if (directory / "cgroup.clone_children").exists() and (directory / "cpuset.mems").exists():
        for file in ("cpuset.cpus", "cpuset.mems"):
            (directory / file).write_text((directory.parent / file).read_text())
        (directory / "cgroup.clone_children").write_text("1")


def _enable(directory: Path) -> None:
    """Enable every v2 controller that the group has for the groups below it."""
    for controller in (directory / "cgroup.controllers").read_text().split():
        (directory / "cgroup.subtree_control").write_text(f"+{controller}")


def _list_tree(top: Path) -> list[Path]:
    """List the directory and all below it, innermost first. Directories that vanish meanwhile are left out, as os.walk
    does."""
    return [Path(path) for path, _, _ in os.walk(top, topdown=False)]


def _list_mounts(mounts: str | None) -> list[tuple[Path, str]]:
    text = Path("/proc/mounts").read_text() if mounts is None else mounts
    fields = [line.split() for line in text.splitlines()]
    return [
        (Path(path), kind)
        for _, path, kind, *_ in fields
        if kind in ("cgroup", "cgroup2") and Path(path).is_relative_to(ROOT)
    ]
