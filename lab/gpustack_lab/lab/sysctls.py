"""Kernel settings of the machine that a lab changes: recorded before the first lab, restored after the last.

Lab hosts share vm.*, kernel.* and fs.* with the machine, and may write them as real hosts do.
"""

import json
from pathlib import Path

from gpustack_lab.lab import locks

PROC = Path("/proc/sys")
# Settings that the lab needs: every host has its own systemd, journal and kubelet, all of which watch files.
LAB_SYSCTLS = {
    "net/ipv4/ip_forward": 1,
    "fs/inotify/max_user_instances": 8192,
    "fs/inotify/max_user_watches": 1048576,
}
# Loading br_netfilter turns these on for the machine's own bridges, whose virtual machines and containers then meet its
# iptables rules. Each network namespace has its own since Linux 5.3, and begins with 1: br_netfilter_sysctl_default in
# net/bridge/br_netfilter_hooks.c.
BRIDGES = tuple(f"net/bridge/bridge-nf-call-{program}" for program in ("iptables", "ip6tables", "arptables"))
# Settings that hosts write. PID 1: src/core/main.c of systemd, bump_file_max_and_nr_open. At every boot: the files of
# Debian's systemd in /usr/lib/sysctl.d. The kubelet: pkg/kubelet/cm/container_manager_linux.go, setupKernelTunables.
HOST_SYSCTLS = (
    "fs/file-max",
    "fs/nr_open",
    "fs/protected_fifos",
    "fs/protected_hardlinks",
    "fs/protected_regular",
    "fs/protected_symlinks",
    "fs/suid_dumpable",
    "kernel/core_pattern",
    "kernel/core_pipe_limit",
    "kernel/core_uses_pid",
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/pid_max",
    "kernel/sysrq",
    "vm/max_map_count",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    *BRIDGES,
)


def has_bridge_filter() -> bool:
    """Tell whether br_netfilter is loaded already, so that its settings are the machine's own."""
    return any((PROC / name).exists() for name in BRIDGES)


def leave_bridges_alone() -> None:
    """Turn off the filter of the machine's bridges, after br_netfilter was loaded for a lab."""
    for name in BRIDGES:
        if (PROC / name).exists():
            (PROC / name).write_text("0\n")


def raise_limits() -> None:
    """Record everything once, then set what is needed; a value that is already higher stays."""
    file = locks.MACHINE / "sysctls"
    if not file.exists():
        values = {name: (PROC / name).read_text() for name in (*LAB_SYSCTLS, *HOST_SYSCTLS) if (PROC / name).exists()}
        new_file = file.with_suffix(".new")
        new_file.write_text(json.dumps(values))
        new_file.replace(file)
    for name, value in LAB_SYSCTLS.items():
        if int((PROC / name).read_text()) < value:
            (PROC / name).write_text(str(value))


def restore() -> None:
    """Restore the recorded settings. Do nothing without a record."""
    file = locks.MACHINE / "sysctls"
    if not file.exists():
        return
    for name, value in json.loads(file.read_text()).items():
        if (PROC / name).read_text() != value:
            (PROC / name).write_text(value)
    file.unlink()
