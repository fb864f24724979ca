"""Run a program of the machine: output as text, a limit, and a LabError with the program's own words when it fails."""

import os
import shlex
import subprocess
from collections.abc import Sequence

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.lab import locks

# Where system administration is, also when an ordinary user's PATH lacks it.
PATH = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"


def run(argv: Sequence[str], *, limit: float = 60.0) -> str:
    """Standard output of `argv`, which keeps the locks of this process until it ends.

    Raises LabError when it fails or runs longer than `limit` seconds.
    """
    done = attempt(argv, limit=limit, keeps=locks.held())
    if done.returncode != 0:
        message = f"`{shlex.join(argv)}` failed with status {done.returncode}."
        raise LabError("lab-command-failed", message, (done.stderr or done.stdout).strip(), Command(*argv))
    return done.stdout


def attempt(argv: Sequence[str], *, limit: float = 60.0, keeps: Sequence[int] = ()) -> subprocess.CompletedProcess[str]:
    """As `run`, for callers that judge the exit status themselves. 127 is a program that is not there.

    `keeps`: file descriptors that it inherits.
    """
    environment = os.environ | {"PATH": PATH, "LC_ALL": "C"}
    try:
        return subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            check=False,
            env=environment,
            pass_fds=keeps,
        )
    except FileNotFoundError as missing:
        return subprocess.CompletedProcess(argv, 127, "", str(missing))
    except subprocess.TimeoutExpired as late:
        message = f"`{shlex.join(argv)}` did not end within {limit:.0f} s."
        raise LabError("lab-command-failed", message, "", Command(*argv)) from late
