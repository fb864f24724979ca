"""The cgroup of one lab host: join it, list its processes, kill them, remove it.

Three kinds of machine. Managed by systemd: the host is a service unit with a delegated cgroup, on v1 and v2.
Without a systemd and with v1 controllers: one directory in every mounted hierarchy, made by the runner.
Without a systemd and with v2: one directory below the root. (Only the second kind was run; the others follow
systemd's documentation of delegation, https://systemd.io/CGROUP_DELEGATION.)
"""

import os
import signal
import time
from pathlib import Path

from gpustack.errors import LabError
from gpustack.lab.commands import attempt

ROOT = Path("/sys/fs/cgroup")


def systemd_manages() -> bool:
    return Path("/run/systemd/system").is_dir()


def version(mounts: str | None = None) -> int:
    """1 when any controller is bound to a v1 hierarchy, else 2. Takes the text of /proc/mounts."""
    return 1 if any(kind == "cgroup" for _, kind in _mounted(mounts)) else 2


def directories(group: str, mounts: str | None = None) -> list[Path]:
    """Where the group is, or would be, in each mounted hierarchy."""
    if systemd_manages():
        at = attempt(["systemctl", "show", "--property=ControlGroup", "--value", f"{group}.service"]).stdout.strip()
        return [path / at.lstrip("/") for path, _ in _mounted(mounts)] if at else []
    return [path / group for path, _ in _mounted(mounts)]


def join(group: str) -> None:
    """Move the calling process into the group, which is made where it is missing. Without a systemd only."""
    for directory in directories(group):
        directory.mkdir(exist_ok=True)
        if (directory / "cpuset.mems").exists() and not (directory / "cpuset.mems").read_text().strip():
            for file in ("cpuset.cpus", "cpuset.mems"):
                (directory / file).write_text((directory.parent / file).read_text())
            if (directory / "cgroup.clone_children").exists():
                (directory / "cgroup.clone_children").write_text("1")
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
    found.discard(0)
    return sorted(found)


def kill(group: str, *, limit: float = 20.0) -> None:
    """SIGKILL everything in the group until nothing is left. Raises LabError after `limit` seconds."""
    deadline = time.monotonic() + limit
    while left := processes(group):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if time.monotonic() > deadline:
            raise LabError("lab-process-stays", f"processes of {group} do not end", f"pids {left}", "gpustack lab kill")
        time.sleep(0.05)


def remove(group: str, *, keep_top: bool = False, limit: float = 5.0) -> None:
    """Remove the group, innermost first (only what is below it with `keep_top`). Raises LabError when it stays busy."""
    if systemd_manages() and not keep_top:
        attempt(["systemctl", "reset-failed", f"{group}.service"])
        return
    deadline = time.monotonic() + limit
    for top in directories(group):
        while top.is_dir():
            for path in _tree(top):
                if path == top and keep_top:
                    continue
                try:
                    path.rmdir()
                except OSError:
                    continue  # busy for a moment after its last process ended
            if keep_top and not [path for path in top.iterdir() if path.is_dir()]:
                break
            if time.monotonic() > deadline:
                raise LabError("lab-cgroup-stays", f"{top} cannot be removed", hint=f"cat {top}/cgroup.procs")
            if top.is_dir():
                time.sleep(0.05)


def _tree(top: Path) -> list[Path]:
    """The directory and all below it, innermost first. What vanishes meanwhile is left out, as os.walk does."""
    return [Path(at) for at, _, _ in os.walk(top, topdown=False)]


def _mounted(mounts: str | None) -> list[tuple[Path, str]]:
    text = Path("/proc/mounts").read_text() if mounts is None else mounts
    fields = [line.split() for line in text.splitlines()]
    return [(Path(at), kind) for _, at, kind, *_ in fields if kind in ("cgroup", "cgroup2") and Path(at).is_relative_to(ROOT)]
