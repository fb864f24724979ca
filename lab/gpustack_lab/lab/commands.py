"""Run a program of the machine: output as text, a limit, and a LabError with the program's own words when it fails."""

import os
import shlex
import subprocess
from collections.abc import Sequence

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack_lab.lab import locks

# Where system administration is, also when an ordinary user's PATH lacks it.
PATH = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"


def run(argv: Sequence[str], *, limit: float = 60.0) -> str:
    """Run `argv`, which keeps the locks of this process until it ends, and return its standard output.

    Raise LabError when it fails or runs longer than `limit` seconds.
    """
    process = try_run(argv, limit=limit, descriptors=locks.list_descriptors())
    if process.returncode != 0:
        message = f"`{shlex.join(argv)}` failed with status {process.returncode}."
        raise LabError("lab-command-failed", message, (process.stderr or process.stdout).strip(), Command(*argv))
    return process.stdout


def try_run(
    argv: Sequence[str], *, limit: float = 60.0, descriptors: Sequence[int] = ()
) -> subprocess.CompletedProcess[str]:
    """Run `argv` for callers that judge the exit status themselves, which is 127 for a missing program.

    It inherits the file `descriptors`. Raise LabError when it runs longer than `limit` seconds.
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
            pass_fds=descriptors,
        )
    except FileNotFoundError as error:
        return subprocess.CompletedProcess(argv, 127, "", str(error))
    except subprocess.TimeoutExpired as error:
        message = f"`{shlex.join(argv)}` did not end within {limit:.0f} s."
        raise LabError("lab-command-failed", message, "", Command(*argv)) from error
