"""The disk below images, containers, logs and etcd: its free space, whether it is read-only, and errors of the kernel
about it."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.parsing import parse_integer
from gpustack.probes.sections import parse_sections


@dataclass(frozen=True)
class Room:
    """Hold the per cent of space and of inodes that are free on the file system below a path. A file system without
    counts has 100."""

    space: int
    inodes: int


@dataclass(frozen=True)
class Disk:
    """Hold the disks of a host: `rooms` by path; `readonly` paths cannot be written to; `errors` are lines of the
    kernel about these devices."""

    rooms: Mapping[str, Room]
    readonly: tuple[str, ...]
    errors: tuple[str, ...]


def parse_disk(answer: Answer) -> Disk:
    """Parse the disks. Raise ValueError where the answer has another shape."""
    rooms, mounts, errors = parse_sections(answer.stdout, "room", "mounts", "errors")
    rooms_by_path = {path: parse_room(*numbers) for path, *numbers in (line.split(" ") for line in rooms)}
    states = dict(line.split(" ") for line in mounts)
    if not set(states.values()) <= {"ro", "rw"} or not all(line.startswith("| ") for line in errors):
        raise ValueError(answer.stdout)
    readonly = tuple(path for path, state in states.items() if state == "ro")
    return Disk(rooms_by_path, readonly, tuple(shorten_message(line.removeprefix("| ")) for line in errors))


def parse_room(size: str, free: str, inodes: str, free_inodes: str) -> Room:
    """Compute the free per cent of a file system. btrfs counts no inodes."""
    return Room(compute_percentage(free, size), compute_percentage(free_inodes, inodes))


def compute_percentage(part: str, total: str) -> int:
    return min(100, 100 * parse_integer(part) // parse_integer(total)) if parse_integer(total) else 100


def build_space_test(folder: str) -> str:
    """Build a test of sh that is true where the file system of a folder has free blocks left, reserved ones
    included."""
    return f'[ "$(stat -f -c %f {folder})" -gt 15 ]'


ROOMS_FUNCTION = read_script(__file__, "rooms.sh")
DISK = Probe(
    "storage.disk",
    Lines(ROOMS_FUNCTION + read_script(__file__, "disk.sh")),
    parse_disk,
    manual_command="df -k /var/lib/kubelet /var/lib/containerd /var/log /var/log/pods; findmnt",
)
