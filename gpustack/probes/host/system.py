"""Properties of the host: its operating system, its size, and its identity."""

import re
import shlex
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.parsing import parse_integer

# os-release(5): lower case, digits, and these; the words of uname(1) are of the same kind.
WORD = re.compile("[A-Za-z0-9._+~-]*", re.ASCII)
# machine-id(5), and what the kernel prints of the firmware's.
MACHINE_ID, UUID = re.compile("([0-9a-f]{32}|uninitialized)?"), re.compile("([0-9a-fA-F-]{36})?")
SUDO_NAME = re.compile(r"none|(Sudo version|sudo-rs) [0-9][0-9A-Za-z.~+-]*")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class System:
    """Describe the operating system: `id`, `version` and `codename` as in os-release(5); `arch` as dpkg names it."""

    id: str
    version: str
    codename: str
    arch: str


@dataclass(frozen=True)
class Identity:
    """Hold the ids of a host. `product_uuid` is None where the firmware has none (containers, some boards)."""

    machine_id: str
    product_uuid: str | None


@dataclass(frozen=True)
class Capacity:
    """Hold the size of a host: `memory_mib` is all memory that the kernel manages, `disk_gib` the free space below
    /var."""

    cpus: int
    memory_mib: int
    disk_gib: int


@dataclass(frozen=True)
class Pythons:
    """Hold (major, minor) of the Pythons with a versioned name on the path, and of the one called python3."""

    versions: tuple[tuple[int, int], ...]
    default: tuple[int, int] | None


@dataclass(frozen=True)
class Sudo:
    """Describe the program called sudo: whether it is sudo-rs, and then whether it needs the password of the login;
    whether the other sudo is installed as sudo.ws (Ubuntu from 25.10 on)."""

    rust: bool
    needs_password: bool
    has_sudo_ws: bool


def parse_system(answer: Answer) -> System:
    """Parse the operating system. The first line is the output of dpkg, or of uname(1) where there is no dpkg."""
    machine, *lines = answer.stdout.splitlines()
    words = (shlex.split(line) for line in lines if "=" in line and not line.startswith("#"))
    release = dict(word[0].split("=", 1) for word in words if word)
    fields = (release["ID"], release.get("VERSION_ID", ""), release.get("VERSION_CODENAME", ""), machine)
    if unknown_words := [word for word in fields if not WORD.fullmatch(word)]:
        raise ValueError(unknown_words[0])
    return System(*fields[:3], ARCHITECTURES.get(machine, machine))


def parse_hostname(answer: Answer) -> str:
    """Parse the name that kubeadm gives the node: the host's, in lower case.

    Raise ValueError where hostnamectl would refuse the name in any case (systemd: ASCII).
    """
    name = parse_word(answer)
    if not name.isascii():
        raise ValueError(name)
    return name.lower()


def parse_identity(answer: Answer) -> Identity:
    machine_id, uuid = (line.strip() for line in answer.stdout.splitlines())
    if not MACHINE_ID.fullmatch(machine_id) or not UUID.fullmatch(uuid):
        raise ValueError(answer.stdout)
    return Identity(machine_id.removeprefix("uninitialized"), uuid.lower() or None)


def parse_capacity(answer: Answer) -> Capacity:
    cpus, memory_kib, disk_kib = answer.stdout.split()
    return Capacity(parse_integer(cpus), parse_integer(memory_kib) // 1024, parse_integer(disk_kib) // 1024**2)


def parse_time(answer: Answer) -> int:
    """Parse seconds of the epoch, by the host's own clock."""
    return parse_integer(parse_word(answer))


def parse_cgroup_version(answer: Answer) -> int:
    """Parse the version of the hierarchy that systemd works with: 2 only when all controllers are in it."""
    return {"cgroup2fs": 2, "tmpfs": 1}[parse_word(answer)]


def parse_pythons(answer: Answer) -> Pythons:
    *names, default_name = answer.stdout.splitlines()
    return Pythons(
        tuple(parse_version(name) for name in names), parse_version(default_name) if default_name != "-" else None
    )


def parse_sudo(answer: Answer) -> Sudo:
    name, *lines = answer.stdout.splitlines()
    if not SUDO_NAME.fullmatch(name) or not {"asks", "sudo.ws"}.issuperset(lines):
        raise ValueError(answer.stdout)
    return Sudo(name.startswith("sudo-rs "), "asks" in lines, "sudo.ws" in lines)


def parse_version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return parse_integer(major), parse_integer(minor)


def parse_word(answer: Answer) -> str:
    (word,) = answer.stdout.split()
    return word


# What packages are installed for counts: a 64-bit kernel may have a 32-bit system on it, as Raspberry Pi OS has.
OS = Probe(
    "system.os",
    Lines("dpkg --print-architecture 2>/dev/null || uname -m; cat /etc/os-release && echo"),
    parse_system,
    manual_command="dpkg --print-architecture; cat /etc/os-release",
)
HOSTNAME = Probe("system.hostname", Lines("cat /proc/sys/kernel/hostname"), parse_hostname)
IDENTITY = Probe(
    "system.identity",
    Lines(r"""machine=; uuid=
read -r machine </etc/machine-id
[ ! -r /sys/class/dmi/id/product_uuid ] || read -r uuid </sys/class/dmi/id/product_uuid
printf '%s\n%s\n' "$machine" "$uuid" """),
    parse_identity,
    manual_command="cat /etc/machine-id /sys/class/dmi/id/product_uuid",
)
CAPACITY = Probe(
    "system.capacity",
    Lines(r"""nproc --all
while read -r name kilobytes _; do
  [ "$name" != MemTotal: ] || echo "$kilobytes"
done </proc/meminfo
df -k --output=avail /var | { read -r _ && read -r free && echo "$free"; }"""),
    parse_capacity,
    manual_command="nproc --all; grep MemTotal /proc/meminfo; df -Pk /var",
)
HOST_TIME = Probe("system.time", Lines("date +%s"), parse_time)
CGROUP = Probe("system.cgroup", Lines("stat -fc %T /sys/fs/cgroup"), parse_cgroup_version)
PYTHON = Probe(
    "system.python",
    Lines(r"""for minor in 8 9 10 11 12 13 14 15; do
  ! command -v python3.$minor >/dev/null || echo 3.$minor
done
program=$(command -v /usr/bin/python3 || command -v python3) || { echo -; exit 0; }
"$program" -IESc 'import sys; print("%d.%d" % sys.version_info[:2])'"""),
    parse_pythons,
    manual_command="python3 --version",
)
# Under sudo SUDO_UID is who logged in; asked again with -n, which fails where a password would be asked for.
SUDO = Probe(
    "system.sudo",
    Lines(r"""command -v sudo >/dev/null || { echo none; exit 0; }
name=$(sudo --version)
name=${name%%
*}
printf '%s\n' "$name"
! command -v sudo.ws >/dev/null || echo sudo.ws
case "${SUDO_UID-} $name" in
[0-9]*' sudo-rs '*)
  setpriv --reuid="$SUDO_UID" --regid="$SUDO_GID" --init-groups sudo -n true 2>/dev/null || echo asks ;;
esac"""),
    parse_sudo,
    manual_command="sudo --version",
)
