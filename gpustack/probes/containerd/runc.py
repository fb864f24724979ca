"""The versions of runc and of the running kernel, which decide together whether containers start reliably."""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe

RELEASE = re.compile(r"[A-Za-z0-9._+~-]+", re.ASCII)
TITLE = "runc version "


@dataclass(frozen=True)
class Runc:
    """Hold the kernel as uname(1) names it, and the version that runc names itself, empty where there is no runc."""

    kernel: str
    version: str


def parse_runc(answer: Answer) -> Runc:
    """Parse both versions. Raise ValueError where the answer has another shape; further lines are of runc's build."""
    kernel, *lines = answer.stdout.splitlines()
    title, version = (lines[0][: len(TITLE)], lines[0][len(TITLE) :]) if lines else (TITLE, "")
    if title != TITLE or not RELEASE.fullmatch(kernel) or (lines and not RELEASE.fullmatch(version)):
        raise ValueError(answer.stdout)
    return Runc(kernel, version)


RUNC = Probe(
    "containerd.runc",
    Lines("uname -r && { ! command -v runc >/dev/null || runc --version; }"),
    parse_runc,
    manual_command="uname -r; runc --version",
)
