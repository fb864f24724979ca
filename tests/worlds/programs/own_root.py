"""A root and a mount namespace of a test's own, in which scripts run with the real programs of this machine."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

NAMESPACES = ["unshare", "--mount", "--net", "--propagation", "private"]
if os.geteuid():
    NAMESPACES.insert(1, "--map-root-user")
OWN_ROOT = """set -eu
for folder in usr proc dev etc/alternatives; do mkdir -p "$ROOT/$folder"; mount --rbind "/$folder" "$ROOT/$folder"; done
for link in bin sbin lib lib64; do [ ! -L "/$link" ] || ln -sfn "usr/$link" "$ROOT/$link"; done
mkdir -p "$ROOT/export" "$ROOT/run" "$ROOT/tmp" "$ROOT/etc" "$ROOT/var/lib" "$ROOT/var/log" "$ROOT/data"
mount --bind "$EXPORT" "$ROOT/export"
exec chroot "$ROOT" /bin/sh -c "$SCRIPT"
"""


@dataclass
class Machine:
    """A root of its own. `remaining_paths` is what lies in the export that is mounted into it."""

    root: Path
    export: Path

    def run(self, *parts: str) -> subprocess.CompletedProcess[str]:
        words = {
            "ROOT": str(self.root),
            "EXPORT": str(self.export),
            "SCRIPT": "\n".join(parts),
            "PATH": os.environ["PATH"],
        }
        command = [*NAMESPACES, "sh", "-c", OWN_ROOT]
        return subprocess.run(command, env=words, capture_output=True, text=True, timeout=60, check=False)

    @property
    def remaining_paths(self) -> Sequence[str]:
        return sorted(path.name for path in self.export.iterdir())


def make_machine(folder: Path) -> Machine:
    """Make a root below this folder. Skip the test where no mount namespace can be had."""
    machine = Machine(folder / "root", folder / "export")
    machine.root.mkdir()
    machine.export.mkdir()
    (machine.export / "precious").write_text("of somebody else")
    if machine.run("mount -t tmpfs none /data").returncode:
        pytest.skip("no mount namespace of its own: needs root, or user namespaces")
    return machine
