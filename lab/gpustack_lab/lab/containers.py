"""Lab hosts that are containers of systemd-nspawn."""

import os
import signal
from pathlib import Path

from gpustack.events import Reporter
from gpustack_lab.lab import background, cgroups, identity, pool, seeds
from gpustack_lab.lab.state import Host, Record
from gpustack_lab.simulated import hardware

PROGRAM = "systemd-nspawn"
# What runc and the kubelet call and nspawn does not allow by itself.
CALLS_ALLOWED = "bpf add_key keyctl request_key perf_event_open"
# Swap, clock and modules are the machine's own: a host that could change them would change them for all.
CALLS_REFUSED = "~swapon swapoff"
CAPABILITIES_REFUSED = "CAP_SYS_TIME,CAP_SYS_MODULE"
# PID 1 of a container reads its arguments as the kernel command line. systemd 256 and later want the second on v1.
V1_WORDS = ("systemd.unified_cgroup_hierarchy=0", "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1")


def make(record: Record, host: Host, report: Reporter) -> None:
    """Create the root of a host, with its identity and its GPUs. An existing root stays, and keeps its host's files."""
    root = record.locate_root(host)
    if not root.exists():
        pool.copy(seeds.build_seed(host.os, record.pool, report), root)
    if not background.is_running(record, host.name):
        identity.give_identity(record, host, root)
        hardware.install_gpus(root, record.name, host.name, host.gpus, host.model)


def start(record: Record, host: Host) -> None:
    """Start a host. Return when its process is there, before its systemd begins."""
    environment = {
        # The kubelet writes /proc/sys/vm and /proc/sys/kernel. /tmp is a directory, as on Debian 12.
        "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes",
        "SYSTEMD_NSPAWN_TMPFS_TMP": "0",
        "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1" if cgroups.detect_version() == 2 else "0",
    }
    command = build_nspawn_command(
        record, host, cgroup=cgroups.detect_version(), modules=Path("/proc/modules").exists()
    )
    background.start(record, host.name, command, environment)


def power_off(record: Record, host: Host) -> None:
    """Power off a host. nspawn passes SIGTERM on to the host's PID 1, as the signal at which systemd powers off."""
    for pid in background.find(record, host.name, PROGRAM):
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            continue  # it ended meanwhile


def build_nspawn_command(record: Record, host: Host, *, cgroup: int, modules: bool) -> list[str]:
    """Build the command of a host. `modules` says that the kernel can load modules, so the host sees its /lib/modules,
    not the seed's list."""
    tree = f"/lib/modules/{os.uname().release}"
    return [
        PROGRAM,
        "--quiet",
        f"--directory={record.locate_root(host)}",
        f"--machine={record.format_machine_name(host)}",
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
