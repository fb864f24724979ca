"""Checks of step prereqs that need a person to fix: operating system and hardware of the host."""

from dataclasses import replace
from importlib import metadata

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.probes.control_plane.etcd import ETCD_FILE_SYSTEM
from gpustack.probes.host.system import CAPACITY, CGROUP, OS, PYTHON, SUDO
from gpustack.probes.packages.software import PACKAGES
from gpustack.steps.other_cluster import is_member

SYSTEMS = {"debian": ("12", "13"), "ubuntu": ("22.04", "24.04", "26.04")}
ARCHITECTURES = ("amd64", "arm64")
# Pythons on hosts that each line of ansible-core is tested with: ansible_test/_util/target/common/constants.py
HOST_PYTHONS = {"2.19": ((3, 8), (3, 13)), "2.20": ((3, 9), (3, 14)), "2.21": ((3, 9), (3, 14))}


# File systems without a disk of the host, as the kernel names them. Red Hat, "Recommended etcd practices": avoid NFS
# and other file systems of a network.
REMOTE_OR_VOLATILE = (
    "9p", "afs", "ceph", "cifs", "gfs2", "glusterfs", "lustre", "nfs", "nfs4", "ocfs2", "ramfs", "smb3", "tmpfs",
)  # fmt: skip


def system(view: View) -> Result | None:
    """The operating system is supported."""
    actual_system = view[OS]
    supported_systems = ", ".join(f"{name} {version}" for name, versions in SYSTEMS.items() for version in versions)
    if actual_system.version in SYSTEMS.get(actual_system.id, ()):
        return None
    hint = Command("gpustack", "explain", "prereqs/system")
    return Result(
        "operating system",
        f"one of {supported_systems}",
        f"{actual_system.id} {actual_system.version}",
        "operator",
        hint=hint,
    )


def architecture(view: View) -> Result | None:
    """The architecture of the operating system is one for which all packages and images exist. The architecture that
    dpkg reports counts, not that of the kernel: a 64-bit kernel may run a 32-bit system (armhf, i386)."""
    arch = view[OS].arch
    hint = Command("gpustack", "explain", "prereqs/architecture")
    expected_architecture = " or ".join(ARCHITECTURES)
    return None if arch in ARCHITECTURES else Result("architecture", expected_architecture, arch, "operator", hint=hint)


def capacity(view: View) -> Result | None:
    """CPUs, memory and, before the first installation, free disk space are at least `minimum` of the spec."""
    actual_capacity, minimum = view[CAPACITY], view.spec.minimum
    is_empty = view[PACKAGES]["containerd.io"] is None
    shortages = [
        (f"{actual_amount} {resource}", f"{minimum_amount} {resource}")
        for actual_amount, minimum_amount, resource in (
            (actual_capacity.cpus, minimum.cpus, "CPUs"),
            (actual_capacity.memory_mib, minimum.memory_mib, "MiB of memory"),
            (actual_capacity.disk_gib, minimum.disk_gib if is_empty else 0, "GiB free below /var"),
        )
        if actual_amount < minimum_amount
    ]
    if not shortages:
        return None
    is_small = actual_capacity.cpus < minimum.cpus or actual_capacity.memory_mib < minimum.memory_mib
    expected, actual = (
        f"at least {format_value([minimum_amount for _, minimum_amount in shortages])}",
        format_value([actual_amount for actual_amount, _ in shortages]),
    )
    hint = Prose("give the host more, or lower `minimum` in the spec")
    result = Result("size of the host", expected, actual, "operator", fault="host-too-small", hint=hint)
    return result if is_small else replace(result, fault="")


def cgroup_version(view: View) -> Result | None:
    """The host uses cgroup v2, or v1 if the spec allows the kubelet to run on it (KEP-5573)."""
    actual = view[CGROUP]
    if actual == 2 or not view.spec.kubelet.fail_cgroup_v1:
        return None
    hint = Prose("boot with cgroup v2, or set kubelet.failCgroupV1: false in the spec")
    return Result("cgroup version", "2", str(actual), "operator", fault="host-cgroup-v1", hint=hint)


def etcd_disk(view: View) -> Result | None:
    """The data of etcd will be on a disk of the host, before the host is a control plane. In memory it is lost at the
    next boot, and over a network its writes are too slow. `plan` warns of a disk that rotates; how fast one is shows
    only under the writes of etcd."""
    if not view.host.control_plane or is_member(view):
        return None
    kind = view[ETCD_FILE_SYSTEM].kind
    if not is_remote_or_volatile(kind):
        return None
    hint = Prose("mount a disk at /var/lib/etcd")
    return Result("file system of /var/lib/etcd", "on a disk of the host", kind, "operator", hint=hint)


def is_remote_or_volatile(kind: str) -> bool:
    return kind in REMOTE_OR_VOLATILE or kind.startswith("fuse.")


def python(view: View) -> Result | None:
    """The installed ansible-core supports the Python that Ansible finds (not checked if ansible_python_interpreter
    names it, or on the host on which gpustack itself runs)."""
    if view.host.python or view.host.connection == "local":
        return None
    line = ".".join(metadata.version("ansible-core").split(".")[:2])
    (lowest_version, highest_version), pythons = HOST_PYTHONS[line], view[PYTHON]
    # Ansible tries the names it knows, newest first, then /usr/bin/python3 (INTERPRETER_PYTHON_FALLBACK).
    choice = max(
        (version for version in pythons.versions if lowest_version <= version <= highest_version),
        default=pythons.default,
    )
    if choice and lowest_version <= choice <= highest_version:
        return None
    expected = f"{format_version(lowest_version)} to {format_version(highest_version)} (ansible-core {line})"
    newer_python = Prose(
        "run gpustack itself on a newer Python (pipx install --python python3.13): its ansible-core knows this one"
    )
    hint = newer_python if choice and choice > highest_version else Command("apt-get", "install", "python3")
    return Result("Python", expected, format_version(choice) if choice else "none", "operator", hint=hint)


def sudo(view: View) -> Result | None:
    """Ansible can pass the password to sudo, if sudo asks for one: the prompt of sudo-rs is not the one that
    ansible-core waits for, and every task would fail with "Timeout waiting for privilege escalation prompt". Use the
    other sudo (sudo.ws on Ubuntu), or a sudo that requires no password."""
    # `[sudo: PROMPT] Password:`, and plugins/become/__init__.py of ansible-core 2.19 to 2.21 wants a line that begins
    # with its own prompt (ansible/ansible issues 85837 and 86441).
    host = view.host
    if not host.become_password or host.become_exe.endswith("sudo.ws"):
        return None
    sudo_program = view[SUDO]
    if not (sudo_program.rust and sudo_program.needs_password):
        return None
    alternative = Prose(
        "ansible_become_exe: sudo.ws", note="in the inventory; without one: export ANSIBLE_BECOME_EXE=sudo.ws"
    )
    hint = (
        alternative
        if sudo_program.has_sudo_ws
        else Prose("allow sudo without a password, or install sudo beside sudo-rs")
    )
    return Result("sudo", "one with a password prompt that Ansible supports", "sudo-rs", "operator", hint=hint)


def format_version(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


CHECKS = (system, architecture, capacity, cgroup_version, etcd_disk, python, sudo)
