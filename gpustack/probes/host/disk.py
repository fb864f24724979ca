"""The disk below images, containers, logs and etcd: its room, whether it is read-only, what the kernel says of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.parsing import number
from gpustack.probes.sections import read_sections


@dataclass(frozen=True)
class Room:
    """Of the file system below a path: per cent of space and of inodes that are free. 100 where none are counted."""

    space: int
    inodes: int


@dataclass(frozen=True)
class Disk:
    """`rooms` by path; `readonly` paths cannot be written to; `errors` are lines of the kernel about these devices."""

    rooms: Mapping[str, Room]
    readonly: tuple[str, ...]
    errors: tuple[str, ...]


def disk(answer: Answer) -> Disk:
    """Raises ValueError for an answer of another shape."""
    rooms, mounts, errors = read_sections(answer.out, "room", "mounts", "errors")
    found = {path: room(*numbers) for path, *numbers in (line.split(" ") for line in rooms)}
    states = dict(line.split(" ") for line in mounts)
    if not set(states.values()) <= {"ro", "rw"} or not all(line.startswith("| ") for line in errors):
        raise ValueError(answer.out)
    readonly = tuple(path for path, state in states.items() if state == "ro")
    return Disk(found, readonly, tuple(line.removeprefix("| ") for line in errors))


def room(size: str, free: str, inodes: str, free_inodes: str) -> Room:
    """btrfs counts no inodes."""
    return Room(share(free, size), share(free_inodes, inodes))


def share(part: str, whole: str) -> int:
    return min(100, 100 * number(part) // number(whole)) if number(whole) else 100


def writable(folder: str) -> str:
    """A test of sh: the file system of a folder has free blocks left, with those that are kept for root."""
    return f'[ "$(stat -f -c %f {folder})" -gt 15 ]'


DISK = Probe(
    "storage.disk",
    Lines(read_script(__file__, "disk.sh")),
    disk,
    like="df -k /var/lib/kubelet /var/lib/containerd /var/log; findmnt",
)
