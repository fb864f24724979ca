"""What this machine can: whether lab hosts run here at all, and which settings a cluster on them needs."""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from gpustack.errors import LabError
from gpustack.lab import cgroups, sysctls
from gpustack.lab.commands import PATH, attempt

# program: Debian package
PROGRAMS = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "btrfs": "btrfs-progs",
    "ip": "iproute2",
    "iptables": "iptables",
    "nft": "nftables",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "setpriv": "util-linux",
    "openssl": "openssl",
    "apt-get": "apt",
}
MODULES = ("overlay", "bridge", "br_netfilter", "vxlan", "veth", "nf_tables", "nf_conntrack", "btrfs", "loop")
LOADED = Path("/proc/modules")
CAP_SYS_RESOURCE = 24


@dataclass(frozen=True)
class Machine:
    """`cgroup` is 1 or 2; `oom_score`: processes may lower oom_score_adj; `swap`: the machine has swap on."""

    cgroup: int
    oom_score: bool
    swap: bool


def require() -> Machine:
    """This machine, if lab hosts run on it. Raises LabError with what is missing and the command that adds it."""
    refuse(platform.system(), missing=missing_packages(), root=os.geteuid() == 0)
    if LOADED.exists():
        filtered = sysctls.bridges_filtered()
        attempt(["modprobe", "--all", *MODULES])  # judged below by what works, not by what is listed
        if not filtered:
            sysctls.leave_bridges_alone()
    lacking = [name for name, there in features().items() if not there]
    if lacking:
        raise LabError(
            "lab-kernel-lacks",
            f"This kernel has no {', '.join(lacking)}.",
            "Lab hosts share the machine's kernel, and a cluster on them needs these.",
            f"modprobe --all {' '.join(lacking)}",
        )
    return Machine(
        cgroup=cgroups.version(),
        oom_score=capable(Path("/proc/self/status").read_text(), CAP_SYS_RESOURCE),
        swap=swaps(Path("/proc/swaps").read_text()),
    )


def refuse(system: str, *, missing: tuple[str, ...], root: bool) -> None:
    """Raises LabError where a lab cannot be: no Linux, programs missing, not root."""
    if system != "Linux":
        raise LabError(
            "lab-needs-linux",
            f"A lab needs Linux; this machine runs {system}.",
            "Its hosts are systemd-nspawn containers. The Vagrantfile makes virtual machines instead.",
            "vagrant up",
        )
    if missing:
        why = "Missing: " + ", ".join(missing)
        install = f"sudo apt-get install --no-install-recommends {' '.join(missing)}"
        raise LabError("lab-packages-missing", "A lab needs Debian packages that are not here.", why, install)
    if not root:
        why = "It makes containers, a bridge and mounts."
        raise LabError("lab-needs-root", "A lab needs root.", why, "sudo gpustack lab up")


def require_root() -> None:
    refuse(platform.system(), missing=(), root=os.geteuid() == 0)


def missing_packages() -> tuple[str, ...]:
    """Debian packages whose programs are not here."""
    absent = (package for program, package in PROGRAMS.items() if not shutil.which(program, path=PATH))
    return tuple(dict.fromkeys(absent))


def features() -> dict[str, bool]:
    """Kernel features by effect, tried in a network namespace of their own: module lists omit what is built in."""
    filesystems = Path("/proc/filesystems").read_text().split()
    return {
        "bridge": _in_own_network("ip link add name t0 type bridge"),
        "veth": _in_own_network("ip link add name t0 type veth"),
        "vxlan": _in_own_network("ip link add name t0 type vxlan id 1 dstport 8472"),
        "nf_tables": _in_own_network("nft add table ip t"),
        "br_netfilter": Path("/proc/sys/net/bridge/bridge-nf-call-iptables").exists(),
        "overlay": "overlay" in filesystems,
        "btrfs": "btrfs" in filesystems,
        "loop": Path("/dev/loop-control").exists(),
    }


def capable(status: str, capability: int) -> bool:
    """Whether /proc/PID/status shows the capability, by its number, as effective."""
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> capability & 1)


def swaps(listed: str) -> bool:
    """Whether the text of /proc/swaps lists any swap below its heading; empty on a kernel without swap."""
    return len(listed.splitlines()) > 1


def _in_own_network(command: str) -> bool:
    return attempt(["unshare", "--net", *command.split()], limit=10.0).returncode == 0
