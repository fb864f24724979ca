"""Run a program of the machine: output as text, a limit, and a LabError with the program's own words when it fails."""

import shlex
import subprocess
from collections.abc import Sequence

from gpustack.errors import LabError


def run(argv: Sequence[str], *, text: str = "", limit: float = 60.0) -> str:
    """Standard output of `argv`, which gets `text` on stdin. Raises LabError when it fails or runs longer than `limit` seconds."""
    done = attempt(argv, text=text, limit=limit)
    if done.returncode != 0:
        raise LabError(
            "lab-command-failed",
            f"`{shlex.join(argv)}` failed with status {done.returncode}",
            why=(done.stderr or done.stdout).strip(),
            hint=shlex.join(argv),
        )
    return done.stdout


def attempt(argv: Sequence[str], *, text: str = "", limit: float = 60.0) -> subprocess.CompletedProcess[str]:
    """As `run`, for callers that judge the exit status themselves."""
    try:
        return subprocess.run(argv, input=text, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as late:
        raise LabError(
            "lab-command-failed",
            f"`{shlex.join(argv)}` did not end within {limit:.0f} s",
            hint=shlex.join(argv),
        ) from late
