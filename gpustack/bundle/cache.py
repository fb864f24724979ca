"""Parts of a bundle, each made once for the same inputs.

A part is a directory of files that follow from its inputs alone. It is made in a scratch directory and moved into place
when complete, so an interrupted build goes on where it was:

    ROOT/<part>/<digest of its inputs>/part.json     what was made, file by file
    ROOT/<part>/<digest of its inputs>/out/...       the files
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpustack.errors import BundleError
from gpustack.events import Event, Reporter
from gpustack.files.json_text import dump_json, load_json
from gpustack.files.write import open_log, write_file

KEPT = 2  # digests kept of each part, newest first
LOCK_LIMIT = 3600.0


@dataclass(frozen=True)
class Part:
    """`name` is also its directory; `make` writes the files into the directory it is given."""

    name: str
    inputs: str
    make: Callable[[Path], None]


@dataclass(frozen=True)
class Made:
    """`files` maps paths below `directory` to their sha256. `fresh` if it was made just now."""

    name: str
    directory: Path
    files: dict[str, str]
    fresh: bool

    @property
    def contents(self) -> str:
        """Digest of what was made. Parts made from this one depend on it, not on how it came about."""
        return digest(sorted(self.files.items()))

    def __getitem__(self, path: str) -> Path:
        if path not in self.files:
            raise KeyError(f"{self.name} has no {path}")
        return self.directory / path


def digest(*inputs: object) -> str:
    """Hex digest of values and, for a Path, of the file or of all files below it (names and contents)."""
    total = hashlib.sha256()
    for value in inputs:
        if isinstance(value, Path):
            for path in sorted(p for p in value.rglob("*") if p.is_file()) if value.is_dir() else [value]:
                line = f"{path.relative_to(value) if path != value else ''} {sha256(path)}"
                total.update(hashlib.sha256(line.encode()).digest())
        else:
            total.update(hashlib.sha256(dump_json(value, sort_keys=True, default=str).encode()).digest())
    return total.hexdigest()


def sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Cache:
    """Raises BundleError when another build holds it for longer than an hour."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find(self, part: Part) -> Made | None:
        """The part if it was made before; None if it was not, or a file of it is gone or has another size."""
        place = self.root / part.name / part.inputs
        try:
            record = load_json((place / "part.json").read_text())
            whole = all((place / "out" / path).stat().st_size == size for path, (_, size) in record["files"].items())
        except (FileNotFoundError, ValueError):
            return None
        if not whole:
            return None
        os.utime(place)
        files = {path: sha for path, (sha, _) in record["files"].items()}
        return Made(part.name, place / "out", files, fresh=False)

    def get(self, part: Part, report: Reporter) -> Made:
        found = self.find(part)
        if found is not None:
            return found
        begin = time.monotonic()
        report(Event("step", part.name, "building"))
        home = self.root / part.name
        home.mkdir(parents=True, exist_ok=True)
        place, scratch = home / part.inputs, Path(tempfile.mkdtemp(prefix=".new-", dir=home))
        try:
            out = scratch / "out"
            out.mkdir()
            part.make(out)
            paths = sorted(p for p in out.rglob("*") if p.is_file())
            record = {str(p.relative_to(out)): (sha256(p), p.stat().st_size) for p in paths}
            write_file(scratch / "part.json", dump_json({"name": part.name, "files": record}, indent=1))
            shutil.rmtree(place, ignore_errors=True)
            scratch.rename(place)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self._forget_old(home)
        report(Event("changed", part.name, "built", time.monotonic() - begin))
        return Made(part.name, place / "out", {path: sha for path, (sha, _) in record.items()}, fresh=True)

    @contextmanager
    def held(self, report: Reporter) -> Iterator[None]:
        """One build at a time on this cache; also sweeps the scratch of builds that were killed."""
        self.root.mkdir(parents=True, exist_ok=True)
        lock = open_log(self.root / "lock")
        try:
            deadline = time.monotonic() + LOCK_LIMIT
            waiting = False
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if not waiting:
                        report(Event("waiting", "bundle", f"another build uses {self.root}"))
                    waiting = True
                    if time.monotonic() > deadline:
                        raise BundleError(
                            "bundle-busy", "another build has not ended within an hour", str(self.root)
                        ) from None
                    time.sleep(1)
            for left in self.root.glob("*/.new-*"):
                shutil.rmtree(left)
            yield
        finally:
            os.close(lock)

    def _forget_old(self, home: Path) -> None:
        places = sorted((p for p in home.iterdir() if not p.name.startswith(".")), key=lambda p: p.stat().st_mtime)
        for old in places[:-KEPT]:
            shutil.rmtree(old)
