"""Everything that a lab could leave on a machine is listed as lines that can be compared."""

import subprocess
from pathlib import Path

from gpustack_lab.lab import state

# These change by themselves, or with any program that runs.
RESTLESS = (
    "-nr",
    "-state",
    "random/",
    "ns_last_pid",
    "sched_domain",
    "stat_refresh",
    "/hung_task_detect_count",
    "mount-nr",
)


def list_footprint() -> set[str]:
    names = {f"link {path.name}" for path in Path("/sys/class/net").iterdir()}
    for table in ("nat", "filter"):
        names |= {
            f"{table} {line}" for line in list_lines("iptables", "-w", "-t", table, "-S") if line.startswith("-A")
        }
    names |= set(list_lines("nft", "list", "tables"))
    names |= {f"mount {line.split()[1]}" for line in Path("/proc/mounts").read_text().splitlines()}
    names |= {f"loop {line}" for line in list_lines("losetup", "--list", "--noheadings", "--output", "BACK-FILE")}
    for directory in ("/run/gpustack-lab", "/run/systemd/nspawn/locks", "/run/systemd/nspawn/propagate"):
        names |= {f"file {path}" for path in Path(directory).glob("*")}
    names |= {f"file {path}" for path in state.locate_state("x").parent.glob("*")}
    for hierarchy in (Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").glob("*")):
        names |= {f"cgroup {path}" for path in hierarchy.glob("gpustack-lab-*")}
    return names | list_processes() | list_sysctls()


def list_processes() -> set[str]:
    names = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_text().split("\0")
        except (OSError, UnicodeDecodeError):
            continue  # it ended meanwhile
        if any(word.startswith(("gpustack-lab-", "--machine=gp")) or "/gpustack/lab/" in word for word in words):
            names.add(f"process {path.parent.name} {' '.join(words[:6])}")
    return names


def list_sysctls() -> set[str]:
    names = set()
    for top in ("kernel", "vm", "fs"):
        for path in Path("/proc/sys", top).rglob("*"):
            if path.is_file() and path.stat().st_mode & 0o200 and not any(word in str(path) for word in RESTLESS):
                try:
                    names.add(f"sysctl {path} {path.read_text().strip()}")
                except OSError:
                    continue  # readable by nobody
    return names | {f"sysctl ip_forward {Path('/proc/sys/net/ipv4/ip_forward').read_text().strip()}"}


def list_lines(*argv: str) -> list[str]:
    return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True).stdout.splitlines()


def find_leftovers(name: str, before: set[str]) -> set[str]:
    """Find what is there now and was not before. While other labs are up, only what bears the name or mark of this one
    counts."""
    new = list_footprint() - before
    if not state.list_records():
        return new
    mark = state.Record(name, "", Path(), Path(), "", ()).mark
    return {line for line in new if mark in line or f"-{name}-" in line or f":{name}" in line or f"/{name}" in line}
