"""What this machine can: whether lab hosts run here at all, and which settings a cluster on them needs."""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.lab import cgroups, sysctls
from gpustack.lab.commands import PATH, attempt

# program: Debian package
CONTAINER_PROGRAMS = {"systemd-nspawn": "systemd-container"}
VM_PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "mkfs.ext4": "e2fsprogs",
}
PROGRAMS = {
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
MODULES = ("overlay", "bridge", "br_netfilter", "vxlan", "veth", "nf_tables", "nf_conntrack", "btrfs", "loop", "tun")
LOADED = Path("/proc/modules")
CAP_SYS_RESOURCE = 24


@dataclass(frozen=True)
class Machine:
    """`cgroup` is 1 or 2; `oom_score`: processes may lower oom_score_adj; `swap`: the machine has swap on."""

    cgroup: int
    oom_score: bool
    swap: bool


def require(*, vm: bool = False) -> Machine:
    """This machine, if lab hosts run on it: containers, or virtual machines. Raises LabError with what is missing and
    the command that adds it."""
    refuse(platform.system(), missing=missing_packages(vm=vm), root=os.geteuid() == 0)
    if LOADED.exists():
        filtered = sysctls.bridges_filtered()
        attempt(["modprobe", "--all", *MODULES])  # judged below by what works, not by what is listed
        if not filtered:
            sysctls.leave_bridges_alone()
    lacking = [name for name, there in features(vm=vm).items() if not there]
    if lacking:
        raise LabError(
            "lab-kernel-lacks",
            f"This kernel has no {', '.join(lacking)}.",
            "The lab's network, its disks, and hosts that share the machine's kernel need these.",
            Command("modprobe", "--all", *lacking),
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
            Command("vagrant", "up"),
        )
    if missing:
        why = "Missing: " + ", ".join(missing)
        install = Command("sudo", "apt-get", "install", "--no-install-recommends", *missing)
        raise LabError("lab-packages-missing", "A lab needs Debian packages that are not here.", why, install)
    if not root:
        why = "It makes containers, a bridge and mounts."
        raise LabError("lab-needs-root", "A lab needs root.", why, Command("sudo", "gpustack", "lab", "up"))


def require_root() -> None:
    refuse(platform.system(), missing=(), root=os.geteuid() == 0)


def missing_packages(*, vm: bool = False) -> tuple[str, ...]:
    """Debian packages whose programs are not here."""
    programs = (VM_PROGRAMS if vm else CONTAINER_PROGRAMS) | PROGRAMS
    absent = (package for program, package in programs.items() if not shutil.which(program, path=PATH))
    return tuple(dict.fromkeys(absent))


def features(*, vm: bool = False) -> dict[str, bool]:
    """Kernel features by effect, tried in a network namespace of their own: module lists omit what is built in."""
    filesystems = Path("/proc/filesystems").read_text().split()
    needed = {
        "bridge": _in_own_network("ip link add name t0 type bridge"),
        "nf_tables": _in_own_network("nft add table ip t"),
        "btrfs": "btrfs" in filesystems,
        "loop": Path("/dev/loop-control").exists(),
    }
    if vm:
        return needed | {"tun": _in_own_network("ip tuntap add dev t0 mode tap")}
    return needed | {
        "veth": _in_own_network("ip link add name t0 type veth"),
        "vxlan": _in_own_network("ip link add name t0 type vxlan id 1 dstport 8472"),
        "br_netfilter": Path("/proc/sys/net/bridge/bridge-nf-call-iptables").exists(),
        "overlay": "overlay" in filesystems,
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
