"""A gpustack that runs beside the test, is watched by the record it writes, and is killed with all that is its own.

Everything a run starts inherits its environment, also what leaves its process group (Ansible's workers, ssh's masters):
a mark in there finds it all, as a power cut would.
"""

import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.lab.conftest import GPUSTACK

LIMIT = 900


@dataclass
class Run:
    """`folder` holds its state (the record), its memory (the private folder) and what it printed."""

    words: tuple[str, ...]
    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: secrets.token_hex(8))
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def memory(self) -> Path:
        return self.folder / "memory"

    def start(self) -> "Run":
        for folder in (self.state, self.memory):
            folder.mkdir(parents=True, exist_ok=True)
        variables = {"NO_COLOR": "1", "XDG_STATE_HOME": str(self.state), "XDG_RUNTIME_DIR": str(self.memory)}
        with (self.folder / "output").open("wb") as stream:
            self.process = subprocess.Popen(
                [*GPUSTACK, *self.words],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=os.environ | variables | self.env | {"GPUSTACK_WITNESS": self.mark},
            )
        return self

    def read_output(self) -> str:
        return (self.folder / "output").read_text(errors="replace")

    def read_events(self) -> Iterator[dict[str, Any]]:
        for path in self.state.glob("gpustack/runs/*/events.jsonl"):
            for line in path.read_text().splitlines():
                try:
                    yield json.loads(line)
                except json.JSONDecodeError:
                    continue  # the last line, while it is written

    def is_over(self) -> bool:
        assert self.process
        return self.process.poll() is not None

    def wait_until(self, description: str, condition: Callable[[], Any], limit: float = LIMIT) -> Any:
        """Return what `condition` returns once it is true. Fail when the run ends before."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if result := condition():
                return result
            assert not self.is_over(), f"the run ended before {description}\n{self.read_output()}"
            time.sleep(0.02)
        raise AssertionError(f"{description}: not within {limit} s\n{self.read_output()}")

    def wait_for_task(self, step: str, task: str) -> None:
        self.wait_until(
            f"{step}: {task}",
            lambda: any(
                (event["kind"], event["subject"], event["message"]) == ("task", step, task)
                for event in self.read_events()
            ),
        )

    def wait_for_step(self, step: str) -> None:
        self.wait_until(
            step, lambda: any(event["kind"] == "step" and event["subject"] == step for event in self.read_events())
        )

    def end(self, limit: float = LIMIT) -> int:
        """Return the exit status of the run when it has ended by itself."""
        assert self.process
        try:
            return self.process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end within {limit} s\n{self.read_output()}") from None

    def kill(self, *, alone: bool = False) -> None:
        """Kill the run: gpustack alone, or all that it started, too. Nothing of it may be left after five seconds."""
        assert self.process
        self.process.kill()
        self.process.wait()
        if not alone:
            for pid in self.list_processes():
                kill(pid)
        end = time.monotonic() + 5
        while (processes := self.list_processes()) and time.monotonic() < end:
            if not alone:
                for pid in processes:
                    kill(pid)
            time.sleep(0.05)
        assert processes == [], [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes]

    def list_processes(self) -> list[int]:
        """List all processes of this run, but those that wait to be collected."""
        witness, processes = f"GPUSTACK_WITNESS={self.mark}".encode(), []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if witness in (entry / "environ").read_bytes():
                    processes.append(int(entry.name))
            except OSError:
                continue
        return processes


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
