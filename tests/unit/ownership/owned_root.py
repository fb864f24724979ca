"""A folder that stands for the root of a host, on which the program that records ownership runs as it does there."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpustack.config.resources import locate_playbooks

PARTS = ("ownership_state.py", "ownership_read.py", "ownership_record.py", "ownership_reset.py")
PROGRAM = "\n".join((locate_playbooks() / "files" / part).read_text() for part in PARTS)
MACHINE = "a" * 32
RECORD = "var/lib/gpustack-cluster/owned.json"


@dataclass(frozen=True)
class OwnedRoot:
    """Hold the folder; `machine` is its machine-id."""

    path: Path
    machine: str = MACHINE

    def __post_init__(self) -> None:
        self.write("etc/machine-id", f"{self.machine}\n")

    def write(self, name: str, text: str, mode: int = 0o644) -> Path:
        place = self.path / name.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)
        return place

    def read(self, name: str) -> str | None:
        place = self.path / name.lstrip("/")
        return place.read_text() if place.is_file() else None

    def run(
        self,
        *words: str,
        stdin_document: Any = None,
        before: Sequence[str] = (),
        program: str = PROGRAM,
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Run the program with words, and a value as JSON on its standard input; `before` are words before Python."""
        return subprocess.run(
            [*before, sys.executable, "-I", "-c", program, *words],
            input=json.dumps(stdin_document), env={"OWNERSHIP_ROOT": str(self.path), "PATH": os.environ["PATH"]},
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    def record(self, command: str, declaration: Mapping[str, Sequence[str]], **options: Any) -> None:
        """Run begin or finish of a step; it must succeed."""
        process = self.run(command, stdin_document={"declared": declaration, **options})
        assert process.returncode == 0, process.stderr

    def read_records(self) -> dict[str, dict[str, str]]:
        text = self.read(RECORD)
        return {} if text is None else dict(json.loads(text)["records"])

    def read_lines(self) -> tuple[Any, dict[str, dict[str, str]]]:
        """Read as the question of a reset does: the cluster, and what is told of each path."""
        process = self.run("read")
        assert process.returncode == 0, process.stderr
        head, *lines = map(json.loads, process.stdout.splitlines())
        return head["cluster"], {line["path"]: line for line in lines}

    def read_tree(self) -> dict[str, tuple[int, bytes]]:
        """Read mode and content of every file, without what the record itself is."""
        files = [path for path in self.path.rglob("*") if path.is_file() and "gpustack-cluster" not in path.parts]
        return {str(path.relative_to(self.path)): (path.stat().st_mode, path.read_bytes()) for path in files}
