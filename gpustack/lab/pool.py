"""The pool: one sparse file with a btrfs in it, which holds every root, so that copies take no time and overlayfs works on them."""

import shutil
from pathlib import Path

from gpustack.lab.commands import attempt, run

SIZE = "60G"  # sparse; about 6 GB are in use after an installation of a two-node cluster


def open_pool(cache: Path) -> Path:
    """The mounted pool of a cache directory. Hold the machine's lock."""
    mount, file = cache / "pool", cache / "pool.btrfs"
    if not mount.is_mount():
        mount.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            fresh = file.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            run(["truncate", "--size", SIZE, str(fresh)])
            run(["mkfs.btrfs", "--quiet", str(fresh)])
            fresh.rename(file)
        run(["mount", "-o", "loop,noatime", str(file), str(mount)])
    (mount / "seeds").mkdir(exist_ok=True)
    (mount / "labs").mkdir(exist_ok=True)
    return mount


def close_pool(mount: Path) -> None:
    """Unmount; its loop device goes with it."""
    if mount.is_mount():
        run(["umount", str(mount)])


def create(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    run(["btrfs", "--quiet", "subvolume", "create", str(path)])


def copy(source: Path, target: Path) -> None:
    """A writable copy of a root, running or not (then as after a power cut)."""
    target.parent.mkdir(parents=True, exist_ok=True)
    run(["btrfs", "--quiet", "subvolume", "snapshot", str(source), str(target)])


def delete(path: Path) -> None:
    """Delete a subvolume with those that programs made inside it."""
    listed = attempt(["btrfs", "subvolume", "list", "-o", str(path)]).stdout.splitlines()
    for line in sorted(listed, key=len, reverse=True):
        inner = path / Path(line.split(" path ", 1)[1]).relative_to(_inside(path))
        run(["btrfs", "--quiet", "subvolume", "delete", str(inner)])
    run(["btrfs", "--quiet", "subvolume", "delete", str(path)])


def delete_tree(directory: Path) -> None:
    """Delete all subvolumes below a plain directory of the pool, then the directory."""
    if not directory.exists():
        return
    for path in [*directory.glob("hosts/*"), *directory.glob("snapshots/*/*")]:
        delete(path)
    shutil.rmtree(directory)


def _inside(path: Path) -> Path:
    """The path of a subvolume as `btrfs subvolume list` prints it: relative to the top of its filesystem."""
    mount = next(parent for parent in path.parents if parent.is_mount())
    return path.relative_to(mount)
