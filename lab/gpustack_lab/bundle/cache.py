"""Parts of a bundle, each built once for the same inputs.

A part is a directory of files that follow from its inputs alone. It is built in a scratch directory and moved into
place when complete, so an interrupted build goes on where it was:

    ROOT/<part>/<digest of its inputs>/part.json     what was built, file by file
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

from gpustack.bundle.manifest import hash_file
from gpustack.errors import BundleError
from gpustack.events import Event, Reporter
from gpustack.files.json_text import dump_json, load_json
from gpustack.files.write import open_log, write_file

DIGESTS_PER_PART = 2  # digests kept of each part, newest first
LOCK_LIMIT = 3600.0


@dataclass(frozen=True)
class Part:
    """Describe a part. `name` is also the name of its directory, `inputs` is the digest of its inputs, and `make`
    writes the files into the directory that it receives. `seconds` is about how much processor time that takes."""

    name: str
    inputs: str
    make: Callable[[Path], None]
    seconds: float = 0.0


@dataclass(frozen=True)
class BuiltPart:
    """Describe a part in the cache. `files` maps paths below `directory` to their sha256; `fresh` says that this run
    built it."""

    name: str
    directory: Path
    files: dict[str, str]
    fresh: bool

    @property
    def contents(self) -> str:
        """Return the digest of the files. Parts that are built from this one depend on it, not on its inputs."""
        return digest(sorted(self.files.items()))

    def __getitem__(self, path: str) -> Path:
        if path not in self.files:
            raise KeyError(f"{self.name} has no {path}")
        return self.directory / path


def digest(*inputs: object) -> str:
    """Compute the hex digest of values. A Path stands for its file, or for the names and contents of all files below
    it."""
    checksum = hashlib.sha256()
    for value in inputs:
        if isinstance(value, Path):
            for path in sorted(p for p in value.rglob("*") if p.is_file()) if value.is_dir() else [value]:
                line = f"{path.relative_to(value) if path != value else ''} {hash_file(path)}"
                checksum.update(hashlib.sha256(line.encode()).digest())
        else:
            checksum.update(hashlib.sha256(dump_json(value, sort_keys=True, default=str).encode()).digest())
    return checksum.hexdigest()


class Cache:
    """Hold the parts below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find_part(self, part: Part) -> BuiltPart | None:
        """Find a part that was built before. Return None where there is none, or where a file of it is missing or has
        another size."""
        place = self.root / part.name / part.inputs
        try:
            record = load_json((place / "part.json").read_text())
            is_complete = all(
                (place / "out" / path).stat().st_size == size for path, (_, size) in record["files"].items()
            )
        except (FileNotFoundError, ValueError):
            return None
        if not is_complete:
            return None
        os.utime(place)
        files = {path: sha for path, (sha, _) in record["files"].items()}
        return BuiltPart(part.name, place / "out", files, fresh=False)

    def ensure_part(self, part: Part, report: Reporter) -> BuiltPart:
        """Return a part from the cache, or build it."""
        cached_part = self.find_part(part)
        if cached_part is not None:
            return cached_part
        begin = time.monotonic()
        report(Event("step", part.name, "building"))
        home = self.root / part.name
        home.mkdir(parents=True, exist_ok=True)
        place, scratch = home / part.inputs, Path(tempfile.mkdtemp(prefix=".new-", dir=home))
        try:
            output_dir = scratch / "out"
            output_dir.mkdir()
            part.make(output_dir)
            paths = sorted(p for p in output_dir.rglob("*") if p.is_file())
            record = {str(p.relative_to(output_dir)): (hash_file(p), p.stat().st_size) for p in paths}
            write_file(scratch / "part.json", dump_json({"name": part.name, "files": record}, indent=1))
            shutil.rmtree(place, ignore_errors=True)
            scratch.rename(place)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self._forget_old(home)
        report(Event("changed", part.name, "built", time.monotonic() - begin))
        return BuiltPart(part.name, place / "out", {path: sha for path, (sha, _) in record.items()}, fresh=True)

    @contextmanager
    def hold_lock(self, report: Reporter) -> Iterator[None]:
        """Hold the lock of this cache, and remove the scratch directories of builds that were killed. Raise BundleError
        where another build holds it for longer than an hour."""
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
            for scratch in self.root.glob("*/.new-*"):
                shutil.rmtree(scratch)
            yield
        finally:
            os.close(lock)

    def _forget_old(self, home: Path) -> None:
        directories = sorted((p for p in home.iterdir() if not p.name.startswith(".")), key=lambda p: p.stat().st_mtime)
        for directory in directories[:-DIGESTS_PER_PART]:
            shutil.rmtree(directory)
