"""The pool: a sparse file with a btrfs in it that holds every root. Copies take no time, and overlayfs works on it."""

import shutil
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.events import format_count
from gpustack_lab.lab.commands import run

SIZE = "60G"  # sparse; a two-node cluster with its images takes about 6 GB of it
ROOM_GIB, GIB = 1, 1 << 30
SUBVOLUME = 256  # inode number of the root directory of every btrfs subvolume


def require_room(mount: Path, hosts: int) -> None:
    """Raise LabError where the file system below the pool, a sparse file, has no room for so many hosts."""
    place = next(path for path in mount.parents if path.exists())
    free_gib, needed_gib = shutil.disk_usage(place).free / GIB, hosts * ROOM_GIB
    if free_gib < needed_gib:
        message = f"{place} has {free_gib:.1f} GiB left, and {format_count(hosts, 'host')} need about {needed_gib:.0f}."
        reason = (
            "A host with a cluster and its images fills about three times as much as the least that is asked for here."
        )
        raise LabError("lab-no-room", message, reason, Command("df", "-h", str(place)))


def open_pool(mount: Path) -> None:
    """Mount the pool, and create it beside its mount point where it is missing. The caller holds the machine's lock."""
    file = mount.with_suffix(".btrfs")
    if not mount.is_mount():
        mount.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            new_file = mount.with_suffix(".new")
            new_file.unlink(missing_ok=True)
            run(["truncate", "--size", SIZE, str(new_file)])
            run(["mkfs.btrfs", "--quiet", str(new_file)])
            new_file.rename(file)
        run(["mount", "-o", "loop,noatime", str(file), str(mount)])
    (mount / "seeds").mkdir(exist_ok=True)
    (mount / "labs").mkdir(exist_ok=True)


def close_pool(mount: Path) -> None:
    """Unmount the pool with its loop device, and delete an unfinished one."""
    mount.with_suffix(".new").unlink(missing_ok=True)
    if mount.is_mount():
        run(["umount", str(mount)])


def create(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    run(["btrfs", "--quiet", "subvolume", "create", str(path)])


def copy(source: Path, target: Path) -> None:
    """Create a writable copy of a root. The copy of one in use is what a power cut would leave."""
    target.parent.mkdir(parents=True, exist_ok=True)
    run(["btrfs", "--quiet", "subvolume", "snapshot", str(source), str(target)])


def delete(path: Path) -> None:
    """Delete a subvolume with those that programs created inside it."""
    mount = next(parent for parent in path.parents if parent.is_mount())
    inner_paths = [
        mount / line.split(" path ", 1)[1]
        for line in run(["btrfs", "subvolume", "list", "-o", str(path)]).splitlines()
        if (mount / line.split(" path ", 1)[1]).is_relative_to(path)
    ]
    for inner_path in inner_paths:
        delete(inner_path)
    run(["btrfs", "--quiet", "subvolume", "delete", str(path)])


def delete_tree(directory: Path) -> None:
    """Delete the subvolumes of a lab and the plain directory around them."""
    for path in [*directory.glob("hosts/*"), *directory.glob("snapshots/*/*")]:
        if path.stat().st_ino == SUBVOLUME:
            delete(path)
    if directory.exists():
        shutil.rmtree(directory)
