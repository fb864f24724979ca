"""The process above a lab host: it enters the host's cgroup and runs systemd-nspawn, again after a reboot.

    python -m gpustack_lab.lab.runner GROUP COMMAND...

It outlives the command that started it and ends with the host. A mirror runs under it as well.
"""

import os
import signal
import subprocess
import sys

from gpustack_lab.lab import cgroups

FILES = 1024
REBOOT = 133  # exit status of systemd-nspawn --keep-unit when the host asked for a reboot


def run_in_group(group: str, command: list[str]) -> int:
    inner = cgroups.enter(group)
    os.closerange(3, FILES)  # the locks of the command that started it
    join = (lambda: cgroups.join(inner)) if inner else None
    while True:
        # Between fork and exec, so that systemd-nspawn and what it starts are never in the runner's own group.
        child = subprocess.Popen(command, preexec_fn=join)  # noqa: PLW1509 - this process has one thread
        signal.signal(signal.SIGTERM, lambda *_, to=child: to.terminate())
        code = child.wait()
        if code != REBOOT:
            return code
        cgroups.empty(group)


if __name__ == "__main__":
    sys.exit(run_in_group(sys.argv[1], sys.argv[2:]))
