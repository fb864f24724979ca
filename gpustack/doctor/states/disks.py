"""File systems below images, containers, logs and etcd that are full or read-only, and those of programs that forbid
that these are run."""

from collections.abc import Iterator

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.checks.host.disk import FULL_LIMITS
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.host.disk import DISK, Disk
from gpustack.probes.host.noexec import NOEXEC


def observe_disks(view: View) -> Iterator[AbnormalState]:
    for path, trouble in describe_troubles(view[DISK]).items():
        yield AbnormalState(
            "disk-unusable", "broken", (view.location,), (f"file system of {path}",), trouble, Command("df", "-i", path)
        )


def describe_troubles(disk: Disk) -> dict[str, str]:
    """Describe by path what is wrong with its file system."""
    least_space, least_inodes = FULL_LIMITS
    troubles = {
        path: f"{room.space} % of the space and {room.inodes} % of the inodes are free"
        for path, room in disk.rooms.items()
        if room.space < least_space or room.inodes < least_inodes
    }
    return troubles | dict.fromkeys(disk.readonly, "it is mounted read-only")


def observe_programs(view: View) -> Iterator[AbnormalState]:
    for folder in view[NOEXEC]:
        message = "it is mounted noexec: the programs in it are there, and cannot be run"
        command = Command("findmnt", "-o", "TARGET,OPTIONS", "-T", folder)
        subject = f"file system of {folder}"
        yield AbnormalState("disk-unusable", "broken", (view.location,), (subject,), message, command)


PROGRAM_OBSERVERS = (
    Observer("programs", "Directories of programs", observe_programs, (NOEXEC,), scope="host", yields=True),
)
OBSERVERS = (Observer("disks", "Disks of hosts", observe_disks, (DISK,), scope="host", yields=True),)
