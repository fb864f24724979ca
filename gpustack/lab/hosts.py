"""Boot lab hosts with systemd-nspawn, wait for their ssh, stop them, kill them."""

import os
import signal
import socket
import time
from collections.abc import Iterable
from pathlib import Path

from gpustack.errors import LabError
from gpustack.events import Event, Reporter
from gpustack.lab import cgroups, detached, network
from gpustack.lab.commands import attempt
from gpustack.lab.state import Host, Record

BOOT_LIMIT = 120.0
STOP_LIMIT = 60.0
# What runc and the kubelet call and nspawn does not allow by itself.
CALLS_ALLOWED = "bpf add_key keyctl request_key perf_event_open"
# Swap, clock and modules are the machine's own: a host that could change them would change them for all.
CALLS_REFUSED = "~swapon swapoff"
CAPABILITIES_REFUSED = "CAP_SYS_TIME,CAP_SYS_MODULE"
# PID 1 of a container reads its arguments as the kernel command line. systemd 256 and later want the second on v1.
V1_WORDS = ("systemd.unified_cgroup_hierarchy=0", "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1")
NSPAWN = Path("/run/systemd/nspawn")


def root_of(record: Record, host: Host) -> Path:
    return record.roots / "hosts" / host.name


def machine_name(record: Record, host: Host) -> str:
    """Twelve characters: systemd-nspawn calls the host's link vb- and this, and cuts what is longer than 15."""
    return f"{record.machines}{record.hosts.index(host) + 1:02}"


def running(record: Record, host: Host) -> bool:
    return detached.running(record, host.name)


def ssh(record: Record, host: Host) -> list[str]:
    return ["ssh", "-F", str(record.state / "ssh_config"), host.name]


def nspawn(record: Record, host: Host, *, cgroup: int, modules: bool) -> list[str]:
    """`modules`: the kernel can load modules, so the host sees its /lib/modules, not the seed's list."""
    tree = f"/lib/modules/{os.uname().release}"
    return [
        "systemd-nspawn",
        "--quiet",
        f"--directory={root_of(record, host)}",
        f"--machine={machine_name(record, host)}",
        f"--hostname={host.name}",
        "--register=no",
        "--keep-unit",
        f"--network-bridge={record.bridge}",
        "--capability=all",
        f"--drop-capability={CAPABILITIES_REFUSED}",
        f"--system-call-filter={CALLS_ALLOWED}",
        f"--system-call-filter={CALLS_REFUSED}",
        "--resolv-conf=off",
        "--timezone=off",
        "--link-journal=no",
        "--kill-signal=SIGRTMIN+3",
        "--bind=/dev/kmsg",
        "--bind-ro=/sys/module",
        *([f"--bind-ro={tree}"] if modules else []),
        f"--bind-ro={Path(__file__).with_name('lab-init.sh')}:/.lab-init",
        "--console=pipe",
        "/bin/sh",
        "/.lab-init",
        *(V1_WORDS if cgroup == 1 else ()),
    ]


def boot(record: Record, hosts: Iterable[Host]) -> None:
    """Start those hosts that do not run; returns at once."""
    cgroup, modules = cgroups.version(), Path("/proc/modules").exists()
    environment = {
        # The kubelet writes /proc/sys/vm and /proc/sys/kernel. /tmp is a directory, as on Debian 12.
        "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes",
        "SYSTEMD_NSPAWN_TMPFS_TMP": "0",
        "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1" if cgroup == 2 else "0",
    }
    for host in hosts:
        if not running(record, host):
            network.drop_links(f"vb-{machine_name(record, host)}")
            detached.start(record, host.name, nspawn(record, host, cgroup=cgroup, modules=modules), environment)


def wait_for_ssh(record: Record, hosts: Iterable[Host], report: Reporter) -> None:
    """Until every host takes a login. Raises LabError with the end of its console when one does not in two minutes."""
    begun = time.monotonic()
    waiting = list(hosts)
    for host in waiting:
        report(Event("waiting", host.name, f"boots {host.os} as {host.address}"))
    while waiting:
        for host in list(waiting):
            waited = time.monotonic() - begun
            if listens(host) and attempt([*ssh(record, host), "true"], limit=20.0).returncode == 0:
                waiting.remove(host)
                report(Event("done", host.name, "takes logins", time.monotonic() - begun))
            elif waited > BOOT_LIMIT or (waited > 2 and not running(record, host)):
                why = detached.last_words(record, host.name)
                raise LabError(
                    "lab-host-dead", f"Lab host {host.name} did not come up.", why, f"cat {record.console(host.name)}"
                )
        time.sleep(0.05)


def listens(host: Host) -> bool:
    """Whether sshd answers. An ssh that begins too early would wait a second and more for its next packet."""
    try:
        with socket.create_connection((host.address, 22), timeout=0.2) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def stop(record: Record, hosts: Iterable[Host], report: Reporter) -> None:
    """Shut hosts down as `poweroff` does, all at once. Gives up after a minute; `kill` ends what is left."""
    begun = time.monotonic()
    left = [host for host in hosts if supervisors(record, host)]
    for host in left:
        report(Event("waiting", host.name, "shuts down"))
        for pid in supervisors(record, host):
            _power_off(pid)
    while any(supervisors(record, host) for host in left) and time.monotonic() - begun < STOP_LIMIT:
        time.sleep(0.05)


def supervisors(record: Record, host: Host) -> list[int]:
    """The systemd-nspawn of a host. Without one nobody can tell the host to power off."""
    return [pid for pid in cgroups.processes(record.group(host.name)) if _program(pid) == "systemd-nspawn"]


def kill(record: Record, hosts: Iterable[Host]) -> None:
    """End the hosts as a power cut does, all at once, with what systemd-nspawn leaves when it is killed."""
    hosts = list(hosts)
    cgroups.kill(*(record.group(host.name) for host in hosts))
    for host in hosts:
        detached.end(record, host.name)
        network.drop_links(f"vb-{machine_name(record, host)}")
        root, propagate = root_of(record, host), NSPAWN / "propagate" / machine_name(record, host)
        if root.exists():
            at = root.stat()
            (NSPAWN / "locks" / f"inode-{at.st_dev}:{at.st_ino}").unlink(missing_ok=True)
            root.with_name(f".#{host.name}.lck").unlink(missing_ok=True)
        if propagate.is_dir():
            propagate.rmdir()


def _power_off(pid: int) -> None:
    """nspawn passes SIGTERM on to the host's PID 1, as the signal that systemd powers off at."""
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return  # it ended meanwhile


def _program(pid: int) -> str:
    """Its name; of a process that ended meanwhile an empty string."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""
