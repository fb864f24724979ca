"""Processes that outlive the command that started them, each in a cgroup of its own by which it is found again."""

import os
import subprocess
import sys
import time
from pathlib import Path

import gpustack
import gpustack_lab
from gpustack.command import Command
from gpustack.errors import LabError
from gpustack_lab.lab import cgroups, locks
from gpustack_lab.lab.commands import PATH, run
from gpustack_lab.lab.state import Record

START_LIMIT = 20.0


def start(record: Record, part: str, command: list[str], environment: dict[str, str] | None = None) -> None:
    """Run `command` under the runner in the group of `part`. Its output is written to the console file of that part.

    Return when it is in its group, where it can be found and ended; until then it keeps the lab's lock, also when the
    caller is killed. Raise LabError when it is not there within 20 s.
    """
    console = record.locate_console(part)
    console.parent.mkdir(parents=True, exist_ok=True)
    console.write_text("")
    group = record.format_group_name(part)
    folders = [str(Path(place).parents[1]) for place in (gpustack_lab.__file__, gpustack.__file__)]
    variables = {"PATH": PATH, "PYTHONPATH": os.pathsep.join(folders), **(environment or {})}
    runner = [sys.executable, "-m", "gpustack_lab.lab.runner", group, *command]
    if cgroups.has_systemd():
        run(build_unit_command(group, console, variables) + runner)
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
                pass_fds=locks.list_descriptors(),
            )
    deadline = time.monotonic() + START_LIMIT
    while not is_running(record, part):
        if time.monotonic() > deadline:
            reason = read_last_lines(record, part)
            raise LabError(
                "lab-host-dead", f"{part} of lab {record.name} did not start.", reason, Command("cat", str(console))
            )
        time.sleep(0.02)


def build_unit_command(group: str, console: Path, variables: dict[str, str]) -> list[str]:
    """Build the beginning of a systemd-run line: a unit with a delegated cgroup."""
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


def is_running(record: Record, part: str) -> bool:
    return bool(cgroups.list_processes(record.format_group_name(part)))


def find(record: Record, part: str, program: str) -> list[int]:
    """Find the ids of the part's processes that run this program."""
    # As the kernel cuts a name: proc(5), comm.
    return [
        pid for pid in cgroups.list_processes(record.format_group_name(part)) if _read_program_name(pid) == program[:15]
    ]


def end(record: Record, part: str) -> None:
    """End every process of the part without asking, and remove its group."""
    cgroups.kill(record.format_group_name(part))
    cgroups.remove(record.format_group_name(part))


def read_last_lines(record: Record, part: str) -> str:
    """Read the end of the part's console."""
    console = record.locate_console(part)
    lines = console.read_text(errors="replace").splitlines() if console.exists() else []
    return "\n".join(lines[-8:])


def collect_environment() -> dict[str, str]:
    """Collect the variables that a mirror inherits: the places of its user's files."""
    return {key: os.environ[key] for key in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME") if key in os.environ}


def _read_program_name(pid: int) -> str:
    """Read the name of a program. Return an empty string for a process that has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""
