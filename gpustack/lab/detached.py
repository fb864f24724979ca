"""Processes that outlive the command that started them, each in a cgroup of its own by which it is found again."""

import os
import subprocess
import sys
import time
from pathlib import Path

import gpustack
from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.lab import cgroups, locks
from gpustack.lab.commands import PATH, run
from gpustack.lab.state import Record

START_LIMIT = 20.0


def start(record: Record, part: str, command: list[str], environment: dict[str, str] | None = None) -> None:
    """Run `command` under the runner in the group of `part`; what it says goes to the console file of that part.

    Gives back when it is in its group, where it can be found and ended; until then it keeps the lab's lock, also when
    the caller is killed. Raises LabError when it is not there within 20 s.
    """
    console = record.console(part)
    console.parent.mkdir(parents=True, exist_ok=True)
    console.write_text("")
    group = record.group(part)
    variables = {"PATH": PATH, "PYTHONPATH": str(Path(gpustack.__file__).parents[1]), **(environment or {})}
    runner = [sys.executable, "-m", "gpustack.lab.runner", group, *command]
    if cgroups.systemd_manages():
        run(unit(group, console, variables) + runner)
    else:
        with console.open("a") as output:
            # setsid --fork ends at once: the runner is nobody's child, and no terminal's.
            argv = ["setsid", "--fork", *runner]
            subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=variables,
                cwd="/",
                check=True,
                pass_fds=locks.held(),
            )
    deadline = time.monotonic() + START_LIMIT
    while not running(record, part):
        if time.monotonic() > deadline:
            why = last_words(record, part)
            raise LabError(
                "lab-host-dead", f"{part} of lab {record.name} did not start.", why, Command("cat", str(console))
            )
        time.sleep(0.02)


def unit(group: str, console: Path, variables: dict[str, str]) -> list[str]:
    """The beginning of a systemd-run line: a unit with a delegated cgroup."""
    return [
        "systemd-run",
        "--quiet",
        "--collect",
        f"--unit={group}",
        "--property=Delegate=yes",
        "--property=KillMode=mixed",
        "--property=TasksMax=infinity",
        f"--property=StandardOutput=append:{console}",
        f"--property=StandardError=append:{console}",
        *(f"--setenv={key}={value}" for key, value in variables.items()),
    ]


def running(record: Record, part: str) -> bool:
    return bool(cgroups.processes(record.group(part)))


def find(record: Record, part: str, program: str) -> list[int]:
    """The ids of the part's processes that run this program."""
    # As the kernel cuts a name: proc(5), comm.
    return [pid for pid in cgroups.processes(record.group(part)) if _program(pid) == program[:15]]


def end(record: Record, part: str) -> None:
    """End every process of the part without asking, and remove its group."""
    cgroups.kill(record.group(part))
    cgroups.remove(record.group(part))


def last_words(record: Record, part: str) -> str:
    """The end of the part's console."""
    console = record.console(part)
    lines = console.read_text(errors="replace").splitlines() if console.exists() else []
    return "\n".join(lines[-8:])


def environment_of_caller() -> dict[str, str]:
    """What a mirror inherits: where its user's files are."""
    return {key: os.environ[key] for key in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME") if key in os.environ}


def _program(pid: int) -> str:
    """Its name; of a process that ended meanwhile an empty string."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""
