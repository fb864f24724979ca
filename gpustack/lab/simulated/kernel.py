"""What the container toolkit asks of the kernel about modules, on a machine whose kernel can load none.

Its runtime reads /proc/modules, through cat(1), and without the module `nvidia` in it starts every container as plain
runc would. A kernel without loadable modules has no such file, and none can be made in /proc. So containerd, and what it
starts, finds a cat(1) that knows the list; everything else on the host finds its own.
"""

from pathlib import Path

PROGRAMS = Path("usr/lib/simulated-gpus")
DROP_IN = Path("etc/systemd/system/containerd.service.d/simulated-gpus.conf")
CAT = """#!/bin/sh
# SIMULATED: the list of modules, for a kernel that can load none and so has no list. All else is cat(1)'s.
if [ "$*" = /proc/modules ] && [ ! -e /proc/modules ]; then
    [ ! -e /proc/driver/nvidia/version ] || echo 'nvidia 0 0 - Live 0x0000000000000000'
    exit 0
fi
exec /bin/cat "$@"
"""
USUAL = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def fit(root: Path) -> None:
    """Put it into the root of a host, whatever the kernel: where there is a list, nothing changes."""
    program = root / PROGRAMS / "cat"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(CAT)
    program.chmod(0o755)
    unit = root / DROP_IN
    unit.parent.mkdir(parents=True, exist_ok=True)
    unit.write_text(f"[Service]\nEnvironment=PATH=/{PROGRAMS}:{USUAL}\n")
