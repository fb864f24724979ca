"""Name this process, so that a later one on this machine knows whether it still runs.

Pods of a proof carry the name. What a killed gpustack left is removed by the next one on the same machine; pods of a
process that runs, or that runs elsewhere, are left to themselves and end at their deadline.
"""

import hashlib
import os
from pathlib import Path

PROC = Path("/proc")


def name_process(proc: Path = PROC, number: int | None = None) -> str:
    """Return MACHINE.NUMBER.START, or nothing where the system has no /proc. MACHINE stands for a boot and a namespace
    of process numbers."""
    number = number or os.getpid()
    try:
        boot = (proc / "sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        space = str((proc / "self/ns/pid").readlink())
        start = read_start(proc, number)
    except (OSError, IndexError):
        return ""
    machine = hashlib.sha256(f"{boot} {space}".encode()).hexdigest()[:16]
    return f"{machine}.{number}.{start}"


def read_start(proc: Path, number: int) -> str:
    """Return when a process was started, in ticks since the boot: field 22 of proc_pid_stat(5), whose field 2 is in
    parentheses and may have anything in it."""
    return (proc / str(number) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]


def is_dead(name: str, proc: Path = PROC) -> bool:
    """Tell whether the process of this name ran on this machine, since its boot, and has ended."""
    machine, _, rest = name.partition(".")
    number, _, start = rest.partition(".")
    own_name = name_process(proc)
    if not own_name or own_name.partition(".")[0] != machine or not number.isdecimal() or not start.isdecimal():
        return False
    try:
        return read_start(proc, int(number)) != start
    except FileNotFoundError:
        return True
    except (OSError, IndexError):
        return False
