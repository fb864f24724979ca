"""The process above a lab host: puts itself into the host's cgroup, runs systemd-nspawn, and again when the host reboots.

    python -m gpustack.lab.runner GROUP COMMAND...

It outlives the command that started it and ends with the host. A mirror runs under it as well.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from gpustack.lab import cgroups

REBOOT = 133  # exit status of systemd-nspawn --keep-unit when the container asked for a reboot


def main(group: str, command: list[str]) -> int:
    if cgroups.systemd_manages():
        _step_aside()
    else:
        cgroups.join(group)
    while True:
        child = subprocess.Popen(command)
        signal.signal(signal.SIGTERM, lambda *_, to=child: to.send_signal(signal.SIGTERM))
        code = child.wait()
        if code != REBOOT:
            return code
        cgroups.remove(group, keep_top=True)


def _step_aside() -> None:
    """In a delegated v2 cgroup only leaves may hold processes: make room for the ones that nspawn creates."""
    own = next((line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")), "")
    if cgroups.version() == 2 and own:
        aside = cgroups.ROOT / own.removeprefix("0::").lstrip("/") / "runner"
        aside.mkdir(exist_ok=True)
        (aside / "cgroup.procs").write_text(str(os.getpid()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
