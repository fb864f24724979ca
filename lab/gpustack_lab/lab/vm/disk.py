"""The disk of a virtual machine: one ext4 filesystem, filled from a seed without mounting anything, or an image."""

import shutil
import time
from pathlib import Path

from gpustack.events import Event, Reporter
from gpustack_lab.lab import identity, pool, seeds
from gpustack_lab.lab.commands import run
from gpustack_lab.lab.state import Host, Record
from gpustack_lab.lab.vm import image

# Both are sparse: they take what is written.
DISK, SWAP = "20G", "512M"
FSTAB = "LABEL=root / ext4 defaults,errors=remount-ro 0 1\nLABEL=swap none swap sw 0 0\n"


def make(record: Record, host: Host, report: Reporter) -> None:
    """Create disk.img and the files that the host is started with, in the host's root. Existing files stay."""
    root = record.locate_root(host)
    if root.exists():
        return
    seed = None if record.image else seeds.build_seed(host.os, record.pool, report, kernel=True)
    start_time, part = time.monotonic(), root.with_name(f"{host.name}.part")
    report(Event("waiting", host.name, "its disk is made, about half a minute"))
    if part.exists():
        pool.delete(part)
    pool.create(part)
    part.chmod(0o700)  # a disk image has all of a host's secrets in it
    if seed:
        _fill_from_seed(record, host, seed, part)
    else:
        image.copy(Path(record.image), part / "disk.img", DISK)
        image.write_seed(record, host, part / "cidata")
    part.rename(root)
    report(Event("done", host.name, "its disk is made", time.monotonic() - start_time))


def _fill_from_seed(record: Record, host: Host, seed: Path, part: Path) -> None:
    tree = part / "tree"
    pool.copy(seed, tree)
    identity.give_identity(record, host, tree)
    (tree / "etc/fstab").write_text(FSTAB)
    for name in ("vmlinuz", "initrd.img"):
        shutil.copyfile(find_newest(tree / "boot", name), part / name)
    run(["mkfs.ext4", "-q", "-L", "root", "-d", str(tree), str(part / "disk.img"), DISK], limit=600.0)
    pool.delete(tree)
    run(["truncate", "--size", SWAP, str(part / "swap.img")])
    run(["mkswap", "--quiet", "--label", "swap", str(part / "swap.img")])


def find_newest(boot: Path, name: str) -> Path:
    """Find the kernel of a seed: boot/vmlinuz-6.12.48+deb13-cloud-amd64. Raise FileNotFoundError without any."""
    paths = sorted(boot.glob(f"{name}-*"))
    if not paths:
        raise FileNotFoundError(boot / f"{name}-*")
    return paths[-1]
