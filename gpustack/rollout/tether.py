"""Ties Ansible to the process that started it: when gpustack is gone, also by kill -9, Ansible ends in a second.

The lock ends with gpustack's own connection. Without this, an Ansible that outlived it would go on changing hosts
while the next operator is let in.
"""

import os
import shlex
import shutil
import sys
from pathlib import Path

# The shell is the leader of its own session (ansible-runner starts it so): its group is Ansible and all it forked.
SCRIPT = """#!/bin/sh
(
  while kill -0 {pid} 2>/dev/null; do
    kill -0 $$ 2>/dev/null || exit 0
    sleep 1
  done
  kill -KILL -- -$$
) </dev/null >/dev/null 2>&1 &
exec {program} "$@"
"""


def tethered(program: str, folder: Path) -> str:
    """A PATH whose first entry has a `program` that ends with this process. The real one stands beside our own
    interpreter or in PATH. Raises FileNotFoundError."""
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
    real = shutil.which(program, path=path)
    if real is None:
        raise FileNotFoundError(program)
    own = folder / "bin"
    own.mkdir(mode=0o700)
    shim = own / program
    shim.write_text(SCRIPT.format(pid=os.getpid(), program=shlex.quote(real)))
    shim.chmod(0o700)
    return f"{own}:{path}"
