"""Checks of step prereqs that need a person to fix: operating system and hardware of the host."""

from dataclasses import replace
from importlib import metadata

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.probes.host.system import CAPACITY, CGROUP, OS, PYTHON, SUDO
from gpustack.probes.packages.software import PACKAGES

SYSTEMS = {"debian": ("12", "13"), "ubuntu": ("22.04", "24.04", "26.04")}
ARCHITECTURES = ("amd64", "arm64")
# Pythons on hosts that each line of ansible-core is tested with: ansible_test/_util/target/common/constants.py
HOST_PYTHONS = {"2.19": ((3, 8), (3, 13)), "2.20": ((3, 9), (3, 14)), "2.21": ((3, 9), (3, 14))}


def system(here: View) -> Result | None:
    """The operating system is supported."""
    found = here[OS]
    allowed = ", ".join(f"{name} {version}" for name, versions in SYSTEMS.items() for version in versions)
    if found.version in SYSTEMS.get(found.id, ()):
        return None
    hint = Command("gpustack", "explain", "prereqs/system")
    return Result("operating system", f"one of {allowed}", f"{found.id} {found.version}", "operator", hint=hint)


def architecture(here: View) -> Result | None:
    """All packages and images exist for the architecture of the operating system. The architecture that dpkg reports
    counts, not that of the kernel: a 64-bit kernel may run a 32-bit system (armhf, i386)."""
    found = here[OS].arch
    hint = Command("gpustack", "explain", "prereqs/architecture")
    wanted = " or ".join(ARCHITECTURES)
    return None if found in ARCHITECTURES else Result("architecture", wanted, found, "operator", hint=hint)


def capacity(here: View) -> Result | None:
    """CPUs, memory and, before the first installation, free disk space are at least `minimum` of the spec."""
    found, least = here[CAPACITY], here.spec.minimum
    empty = here[PACKAGES]["containerd.io"] is None
    short = [
        (f"{have} {what}", f"{need} {what}")
        for have, need, what in (
            (found.cpus, least.cpus, "CPUs"),
            (found.memory_mib, least.memory_mib, "MiB of memory"),
            (found.disk_gib, least.disk_gib if empty else 0, "GiB free below /var"),
        )
        if have < need
    ]
    if not short:
        return None
    small = found.cpus < least.cpus or found.memory_mib < least.memory_mib
    expected, has = f"at least {as_text([need for _, need in short])}", as_text([have for have, _ in short])
    hint = Prose("give the host more, or lower `minimum` in the spec")
    wrong = Result("size of the host", expected, has, "operator", fault="host-too-small", hint=hint)
    return wrong if small else replace(wrong, fault="")


def cgroup_version(here: View) -> Result | None:
    """cgroup v2 is in use, or v1 if the spec allows the kubelet to run on it (KEP-5573)."""
    found = here[CGROUP]
    if found == 2 or not here.spec.kubelet.fail_cgroup_v1:
        return None
    hint = Prose("boot with cgroup v2, or set kubelet.failCgroupV1: false in the spec")
    return Result("cgroup version", "2", str(found), "operator", fault="host-cgroup-v1", hint=hint)


def python(here: View) -> Result | None:
    """The installed ansible-core supports the Python that Ansible finds (not checked if ansible_python_interpreter
    names it, or on the host on which gpustack itself runs)."""
    if here.host.python or here.host.connection == "local":
        return None
    line = ansible_line()
    (low, high), found = HOST_PYTHONS[line], here[PYTHON]
    # Ansible tries the names it knows, newest first, then /usr/bin/python3 (INTERPRETER_PYTHON_FALLBACK).
    chosen = max((one for one in found.named if low <= one <= high), default=found.default)
    if chosen and low <= chosen <= high:
        return None
    expected = f"{dotted(low)} to {dotted(high)} (ansible-core {line})"
    newer = Prose(
        "run gpustack itself on a newer Python (pipx install --python python3.13): its ansible-core knows this one"
    )
    hint = newer if chosen and chosen > high else Command("apt-get", "install", "python3")
    return Result("Python", expected, dotted(chosen) if chosen else "none", "operator", hint=hint)


def sudo(here: View) -> Result | None:
    """Ansible can pass the password to sudo, if sudo asks for one: the prompt of sudo-rs is not the one that
    ansible-core waits for, and every task would fail with "Timeout waiting for privilege escalation prompt". Use the
    other sudo (sudo.ws on Ubuntu), or a sudo that requires no password."""
    # `[sudo: PROMPT] Password:`, and plugins/become/__init__.py of ansible-core 2.19 to 2.21 wants a line that begins
    # with its own prompt (ansible/ansible issues 85837 and 86441).
    host = here.host
    if not host.become_password or host.become_exe.endswith("sudo.ws"):
        return None
    found = here[SUDO]
    if not (found.rust and found.asks):
        return None
    other = Prose(
        "ansible_become_exe: sudo.ws", note="in the inventory; without one: export ANSIBLE_BECOME_EXE=sudo.ws"
    )
    hint = other if found.other else Prose("allow sudo without a password, or install sudo beside sudo-rs")
    return Result("sudo", "one with a password prompt that Ansible supports", "sudo-rs", "operator", hint=hint)


def ansible_line() -> str:
    return ".".join(metadata.version("ansible-core").split(".")[:2])


def dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


CHECKS = (system, architecture, capacity, cgroup_version, python, sudo)
