"""Processes that outlive the command that started them, each in a cgroup of its own by which it is found again."""

import os
import subprocess
import sys
from pathlib import Path

import gpustack
from gpustack.lab import cgroups
from gpustack.lab.commands import PATH, run
from gpustack.lab.state import Record


def start(record: Record, part: str, command: list[str], environment: dict[str, str] | None = None) -> None:
    """Run `command` under the runner in the group of `part`; what it says goes to the console file of that part."""
    console = record.console(part)
    console.parent.mkdir(parents=True, exist_ok=True)
    console.write_text("")
    group = record.group(part)
    variables = {"PATH": PATH, "PYTHONPATH": str(Path(gpustack.__file__).parents[1]), **(environment or {})}
    runner = [sys.executable, "-m", "gpustack.lab.runner", group, *command]
    if cgroups.systemd_manages():
        run(unit(group, console, variables) + runner)
        return
    with console.open("a") as output:
        subprocess.Popen(
            runner,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=variables,
            cwd="/",
            start_new_session=True,
        )


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
