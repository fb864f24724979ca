"""The capabilities of this machine: whether lab hosts run on it, and which settings a cluster on them needs."""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack_lab.lab import cgroups, sysctls
from gpustack_lab.lab.commands import PATH, try_run

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
MODULES_FILE = Path("/proc/modules")
CAP_SYS_RESOURCE = 24


@dataclass(frozen=True)
class Machine:
    """Describe the machine. `cgroup` is 1 or 2; `oom_score` says that processes may lower oom_score_adj; `swap` says
    that the machine has swap on."""

    cgroup: int
    oom_score: bool
    swap: bool


def require(*, vm: bool = False) -> Machine:
    """Return this machine, if lab hosts run on it: containers, or virtual machines. Raise LabError with the missing
    capabilities and the command that adds them."""
    refuse(platform.system(), missing=list_missing_packages(vm=vm), root=os.geteuid() == 0)
    if MODULES_FILE.exists():
        was_filtered = sysctls.has_bridge_filter()
        try_run(["modprobe", "--all", *MODULES])  # judged below by what works, not by what is listed
        if not was_filtered:
            sysctls.leave_bridges_alone()
    missing_features = [name for name, is_present in detect_features(vm=vm).items() if not is_present]
    if missing_features:
        raise LabError(
            "lab-kernel-lacks",
            f"This kernel has no {', '.join(missing_features)}.",
            "The lab's network, its disks, and hosts that share the machine's kernel need these.",
            Command("modprobe", "--all", *missing_features),
        )
    return Machine(
        cgroup=cgroups.detect_version(),
        oom_score=has_capability(Path("/proc/self/status").read_text(), CAP_SYS_RESOURCE),
        swap=has_swap(Path("/proc/swaps").read_text()),
    )


def refuse(system: str, *, missing: tuple[str, ...], root: bool) -> None:
    """Raise LabError where a lab cannot be: no Linux, programs missing, not root."""
    if system != "Linux":
        raise LabError(
            "lab-needs-linux",
            f"A lab needs Linux; this machine runs {system}.",
            "Its hosts are systemd-nspawn containers. The Vagrantfile makes virtual machines instead.",
            Command("vagrant", "up"),
        )
    if missing:
        reason = "Missing: " + ", ".join(missing)
        install = Command("sudo", "apt-get", "install", "--no-install-recommends", *missing)
        raise LabError("lab-packages-missing", "A lab needs Debian packages that are not here.", reason, install)
    if not root:
        reason = "It makes containers, a bridge and mounts."
        raise LabError("lab-needs-root", "A lab needs root.", reason, Command("sudo", "gpustack", "lab", "up"))


def require_root() -> None:
    refuse(platform.system(), missing=(), root=os.geteuid() == 0)


def list_missing_packages(*, vm: bool = False) -> tuple[str, ...]:
    """List the Debian packages whose programs are missing."""
    programs = (VM_PROGRAMS if vm else CONTAINER_PROGRAMS) | PROGRAMS
    packages = (package for program, package in programs.items() if not shutil.which(program, path=PATH))
    return tuple(dict.fromkeys(packages))


def detect_features(*, vm: bool = False) -> dict[str, bool]:
    """Detect kernel features by their effect in a network namespace of their own: module lists omit what is built
    in."""
    filesystems = Path("/proc/filesystems").read_text().split()
    features = {
        "bridge": _runs_in_namespace("ip link add name t0 type bridge"),
        "nf_tables": _runs_in_namespace("nft add table ip t"),
        "btrfs": "btrfs" in filesystems,
        "loop": Path("/dev/loop-control").exists(),
    }
    if vm:
        return features | {"tun": _runs_in_namespace("ip tuntap add dev t0 mode tap")}
    return features | {
        "veth": _runs_in_namespace("ip link add name t0 type veth"),
        "vxlan": _runs_in_namespace("ip link add name t0 type vxlan id 1 dstport 8472"),
        "br_netfilter": Path("/proc/sys/net/bridge/bridge-nf-call-iptables").exists(),
        "overlay": "overlay" in filesystems,
    }


def has_capability(status: str, capability: int) -> bool:
    """Tell whether /proc/PID/status shows the capability, by its number, as effective."""
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> capability & 1)


def has_swap(swaps_text: str) -> bool:
    """Tell whether the text of /proc/swaps lists any swap below its heading. It is empty on a kernel without swap."""
    return len(swaps_text.splitlines()) > 1


def _runs_in_namespace(command: str) -> bool:
    return try_run(["unshare", "--net", *command.split()], limit=10.0).returncode == 0
