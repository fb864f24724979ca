"""What this machine can: whether lab hosts run here at all, and what a cluster on them needs to be told."""

import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from gpustack.errors import LabError
from gpustack.lab import cgroups
from gpustack.lab.commands import attempt
from gpustack.lab.state import running_as_root

# program: Debian package
PROGRAMS = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "mkfs.btrfs": "btrfs-progs",
    "ip": "iproute2",
    "iptables": "iptables",
    "nft": "nftables",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "apt-get": "apt",
}
MODULES = ("overlay", "bridge", "br_netfilter", "vxlan", "veth", "nf_tables", "nf_conntrack", "btrfs", "loop")
CAP_SYS_RESOURCE = 24


@dataclass(frozen=True)
class Machine:
    """`oom_score` is whether processes may lower oom_score_adj (CAP_SYS_RESOURCE); `lacking` names kernel features."""

    cgroup: int
    oom_score: bool
    swap: bool
    lacking: tuple[str, ...] = ()


def require() -> Machine:
    """This machine, if lab hosts run on it. Raises LabError with everything that is missing and the command that adds it."""
    refuse(platform.system(), root=running_as_root(), missing=missing_packages())
    machine = examine()
    if machine.lacking:
        raise LabError(
            "lab-kernel-lacks",
            f"this kernel has no {', '.join(machine.lacking)}",
            "lab hosts share the machine's kernel, and a cluster on them needs these",
            f"modprobe -a {' '.join(machine.lacking)}",
        )
    return machine


def refuse(system: str, *, root: bool, missing: tuple[str, ...]) -> None:
    if system != "Linux":
        raise LabError(
            "lab-needs-linux",
            f"a lab needs Linux, this machine runs {system}",
            "its hosts are systemd-nspawn containers; the Vagrantfile makes virtual machines instead",
            "vagrant up",
        )
    if missing:
        raise LabError(
            "lab-packages-missing",
            f"these Debian packages are missing: {', '.join(missing)}",
            hint=f"sudo apt-get install --no-install-recommends {' '.join(missing)}",
        )
    if not root:
        raise LabError(
            "lab-needs-root",
            "a lab needs root",
            "it makes containers, a bridge and mounts",
            "sudo gpustack lab up",
        )


def missing_packages() -> tuple[str, ...]:
    """Debian packages whose programs are not here. /usr/sbin counts also where an ordinary user's PATH lacks it."""
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return tuple(dict.fromkeys(package for program, package in PROGRAMS.items() if not shutil.which(program, path=path)))


def examine() -> Machine:
    """Asks the kernel by trying, in a network namespace of its own: a module list says little about built-in parts."""
    if Path("/proc/modules").exists():
        attempt(["modprobe", "--all", *MODULES])
    effective = int(_status("CapEff"), 16)
    return Machine(
        cgroup=cgroups.version(),
        oom_score=bool(effective >> CAP_SYS_RESOURCE & 1),
        swap=len(Path("/proc/swaps").read_text().splitlines()) > 1,
        lacking=tuple(name for name, there in features().items() if not there),
    )


def features() -> dict[str, bool]:
    filesystems = Path("/proc/filesystems").read_text().split()
    alone = ["unshare", "--net"]
    return {
        "bridge": _works([*alone, "ip", "link", "add", "name", "t0", "type", "bridge"]),
        "veth": _works([*alone, "ip", "link", "add", "name", "t0", "type", "veth"]),
        "vxlan": _works([*alone, "ip", "link", "add", "name", "t0", "type", "vxlan", "id", "1", "dstport", "8472"]),
        "br_netfilter": Path("/proc/sys/net/bridge/bridge-nf-call-iptables").exists(),
        "nf_tables": _works([*alone, "nft", "add", "table", "ip", "t"]),
        "overlay": "overlay" in filesystems,
        "btrfs": "btrfs" in filesystems,
        "loop": Path("/dev/loop-control").exists(),
    }


def _works(argv: list[str]) -> bool:
    return attempt(argv, limit=10.0).returncode == 0


def _status(field: str) -> str:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split(":", 1)[1].strip() for line in lines if line.startswith(f"{field}:"))
