"""Hunts marked secrets: in files, in journals, in the arguments and environments of every process while things run."""

import os
import re
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from gpustack_lab import lab
from gpustack_lab.lab import cgroups

LARGEST = 64 * 1024 * 1024
PAUSE = 0.05
# What they start has their environment.
DAEMONS = {"containerd", "containerd-shim", "kubelet"}


def encode_secret(secret: str) -> Iterator[bytes]:
    """Encode a secret as it is, as in a URL, and as base64 makes it wherever in a text it stands."""
    raw = secret.encode()
    yield raw
    yield quote(secret, safe="").encode()
    for before in range(3):
        padded_text = b64encode(b"x" * before + raw)
        # Letters at both ends depend on what stands beside it.
        yield padded_text[4 if before else 0 : len(padded_text) - (4 if len(b"x" * before + raw) % 3 else 0)]


@dataclass
class Hunt:
    """`marks` are secrets by name. `found` are (place, name of the secret); the numbers say what was looked at."""

    marks: Mapping[str, str]
    places: set[tuple[str, str]] = field(default_factory=set)
    files: int = 0
    lines: int = 0
    processes: int = 0
    arguments: set[bytes] = field(default_factory=set)

    @property
    def pattern(self) -> "re.Pattern[bytes]":
        marks = {
            name: "|".join(re.escape(form.decode()) for form in encode_secret(mark))
            for name, mark in self.marks.items()
        }
        return re.compile("|".join(f"(?P<{name}>{forms})" for name, forms in marks.items()).encode())

    def match_content(self, place: str, content: bytes) -> None:
        self.places |= {(place, str(match.lastgroup)) for match in self.pattern.finditer(content)}

    def search_trees(
        self, roots: Iterable[Path], *, prefix: Path = Path("/"), excluded_paths: Iterable[str] = ()
    ) -> None:
        """Search every file below the roots, named relative to `prefix`, but those whose path begins with an excluded
        one."""
        for root in roots:
            for path in [root] if root.is_file() else walk_files(root):
                place = f"/{path.relative_to(prefix)}"
                if place.startswith(tuple(excluded_paths)) or path.is_symlink() or not path.is_file():
                    continue
                try:
                    if path.stat().st_size <= LARGEST:
                        self.match_content(place, path.read_bytes())
                        self.files += 1
                except FileNotFoundError:
                    continue  # it went meanwhile

    def search_programs(self) -> None:
        """Search the arguments of all processes that were seen, for marks that became known since."""
        for arguments in list(self.arguments):
            self.match_content("cmdline of some process", arguments)

    def search_journal(self, host: str, text: bytes) -> None:
        self.lines += text.count(b"\n")
        self.match_content(f"journal of {host}", text)


class Watch:
    """Reads arguments and environments of all processes again and again; lab hosts' are among the machine's own."""

    def __init__(self, hunt: Hunt, pattern: "re.Pattern[bytes]") -> None:
        self.hunt, self.pattern, self.end = hunt, pattern, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self) -> "Watch":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end.set()
        self.thread.join()

    def run(self) -> None:
        values: dict[str, str] = {}
        while not self.end.wait(PAUSE):
            processes = {entry.name: read_program(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
            for pid, name in processes.items():
                # A process that has run another program is looked at again.
                if name and values.get(pid) != name:
                    self.watch_process(pid, name)
            values = processes

    def watch_process(self, pid: str, name: str) -> None:
        try:
            arguments, environment = (Path(f"/proc/{pid}/{part}").read_bytes() for part in ("cmdline", "environ"))
            started_by = DAEMONS & set(list_ancestors(pid))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return  # it ended meanwhile
        self.hunt.processes += 1
        self.hunt.arguments.add(arguments)
        sources = f"cmdline of {name}", f"environ of {next(iter(sorted(started_by)), name)}"
        for place, content in zip(sources, (arguments, environment), strict=True):
            self.hunt.places |= {(place, str(match.lastgroup)) for match in self.pattern.finditer(content)}


def list_ancestors(pid: str) -> Iterator[str]:
    """List the names of a process and of all above it."""
    while pid not in ("0", ""):
        status = Path(f"/proc/{pid}/status").read_text()
        yield status.partition("\n")[0].removeprefix("Name:").strip()
        pid = status.partition("PPid:")[2].partition("\n")[0].strip()


def walk_files(root: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(root):
        yield from (Path(folder) / name for name in names)


def read_program(process: Path) -> str:
    """Return the program's name, or an empty string for a process that has ended.

    systemd names a child `(modprobe)` from its fork to its exec, when it already has the environment of the unit.
    """
    try:
        return (process / "comm").read_text().strip().strip("()")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_first_process(pid: int) -> bool:
    """Tell whether it is process 1 of a host."""
    try:
        return bool(re.search(r"^NSpid:\s+\d+\s+1$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE))
    except (FileNotFoundError, ProcessLookupError):
        return False  # it ended meanwhile


def locate_root(running_lab: lab.Lab, host: str) -> Path:
    """Locate the host's file system with its memory-backed parts, as its first process sees it."""
    (init,) = [
        pid for pid in cgroups.list_processes(running_lab.record.format_group_name(host)) if is_first_process(pid)
    ]
    return Path(f"/proc/{init}/root")


def read_journal(running_lab: lab.Lab, host: str) -> bytes:
    command = [*running_lab.build_ssh_command(host), "sudo journalctl --quiet --all --output=export"]
    return subprocess.run(command, capture_output=True, check=True, timeout=120).stdout
